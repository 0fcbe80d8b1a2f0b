# Tasks of this repository; `make` lists them. No task asks a question or leaves a process running.

SHELL := /usr/bin/env bash
CARILLON := .build/release/carillon
# The compiler needs a tenth less CPU time with huge pages (glibc's manual, "Memory Allocation Tunables").
BUILD := GLIBC_TUNABLES=glibc.malloc.hugetlb=1 swift build

.DEFAULT_GOAL := help
.PHONY: help build test test-tools test-build faults fuzz soak lint lint-format lint-text docs demo bench deb clean

help: ## list the tasks
	@sed -n 's/^\([a-z]*\):[^#]*## /  make \1\t/p' $(MAKEFILE_LIST) | expand -t 14

build: ## build the release binary, .build/release/carillon
	@deploy/install-dependencies build
	$(BUILD) -c release --product carillon

# CI builds once, so it needs no debug information and no files for the next build. Compiling each module as a whole
# takes a quarter less CPU time; a developer's second build would take longer. The last two options save another 3 %:
# LLVM does not check its intermediate code, and makes no hashes for the next build.
ONCE := $(if $(CI),-debug-info-format none $(addprefix -Xswiftc ,-disable-batch-mode -wmo -no-emit-module-separately-wmo \
  -num-threads 2 -Xfrontend -disable-llvm-verify -Xfrontend -disable-incremental-llvm-codegen))
# The tools are installed while the compiler runs, because their installation mostly waits for the network.
test: ## install missing packages, lint, build, and run the tests
	@deploy/install-dependencies test
	@$(MAKE) --no-print-directory lint
	@$(MAKE) --no-print-directory -j 2 test-tools test-build
	@.ci/run-tests $(ONCE)

test-tools:
	@deploy/install-foreign-clients
	@deploy/install-foreign-servers
	@deploy/install-checkers
	@deploy/install-browser

test-build:
	$(BUILD) --build-tests $(ONCE)

# A debug build, because only this build contains the fault injection. After a failure the folder of the world has the
# logs.
faults: ## run all fault cases and the long form of the tests (two hours)
	@deploy/install-dependencies test
	@deploy/install-checkers
	$(BUILD) --product ClockShift && $(BUILD) --product faults
	@.build/debug/faults $(ARGS)
ifeq ($(ARGS),)
	@$(MAKE) --no-print-directory test-tools
	$(BUILD) --build-tests
	CARILLON_TEST_FORM=long CARILLON_TEST_ENGINES=both .ci/run-tests --skip 'CampaignStoreTests\.' --skip 'FaultTests\.'
	CARILLON_TEST_FORM=long .ci/run-tests --filter CampaignStoreTests
	CARILLON_AUDIENCE_USERS=200000 .ci/run-tests --filter AudienceProofTests
	CARILLON_TEST_REDIS=single .ci/run-tests --filter CampaignStoreTests
	CARILLON_TEST_SIGNALS=2000 CARILLON_TEST_LOG_TARGETS=100000 CARILLON_TEST_ERASURE_KILLS=20 \
	  CARILLON_TEST_JOBS=5000 .ci/run-tests --filter 'SignalTests|UnreadLogTests|ErasureProofTests|AgreementTests'
endif

EXAMPLES := 100
fuzz: ## test each API operation with EXAMPLES=100 generated requests; compare CPU time with input size
	@deploy/install-dependencies test
	@deploy/install-foreign-clients
	$(BUILD) --build-tests
	CARILLON_TEST_FUZZ=$(EXAMPLES) swift test --skip-build --disable-xctest --filter 'APITests/fuzzed|InputGrowthTests'

HOURS := 1
soak: ## inject faults into one world for HOURS=1, and measure memory
	@deploy/install-dependencies test
	$(BUILD) --product faults
	@.build/debug/faults --soak $(HOURS) $(ARGS)

lint: ## check formatting, import directions, forbidden words and prose
	@$(MAKE) --no-print-directory -j 2 lint-format lint-text

lint-format:
	@swift format lint --strict --parallel --recursive Sources Tests Package.swift

lint-text:
	@.ci/check-imports --self-test
	@.ci/check-imports
	@.ci/check-prose --self-test
	@.ci/check-prose
	@! LC_ALL=C grep -rnE --include='*.lua' '.{121}' Sources || { echo 'These lines of Lua have more than 120 bytes. Wrap them.' >&2; exit 1; }

docs: ## render all pages and the API of the modules as a static site in .build/docs/site
	@deploy/install-dependencies docs
	@deploy/docs/build $(ARGS)

KEEP ?=
demo: ## send a campaign to 100,000 simulated devices and kill a worker; KEEP=1 keeps the dashboard running
	@deploy/install-dependencies demo
	$(BUILD) -c release --product carillon
	@CARILLON=$(CARILLON) KEEP=$(KEEP) deploy/demo/run

bench: ## measure performance and compare it with the targets (ARGS='--only engine --rounds 3')
	@deploy/install-dependencies bench
	$(BUILD) -c release --product carillon && $(BUILD) -c release --product carillon-bench
	@$${CC:-cc} -O2 -o .build/release/curl-loop deploy/bench/curl-loop.c -lcurl
	@$(CARILLON)-bench --curl-loop .build/release/curl-loop $(ARGS)

# Statically linked with the Swift library, so that it runs on machines without Swift.
deb: ## build a Debian package with units, man pages and completions in .build
	@deploy/install-dependencies build
	$(BUILD) -c release --product carillon --static-swift-stdlib
	@deploy/debian/build $(CARILLON) .build

clean: ## remove all build results
	swift package clean
