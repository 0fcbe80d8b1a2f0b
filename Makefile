# What can be done here; `make` alone lists it. Nothing here asks a question or leaves anything running.

SHELL := /usr/bin/env bash
CARILLON := .build/release/carillon

.DEFAULT_GOAL := help
.PHONY: help build test faults fuzz soak lint demo bench deb clean

help: ## this list
	@sed -n 's/^\([a-z]*\):[^#]*## /  make \1\t/p' $(MAKEFILE_LIST) | expand -t 14

build: ## the release binary, .build/release/carillon
	@deploy/install-dependencies build
	swift build -c release --product carillon

# The runner's own closing line comes last, after a failure once more with what failed: among thousands of lines nobody
# finds it. Eight tests at a time: each may have a Redis, a simulator and workers of its own, and on two cores more of them
# would only wait for each other until they run out of patience.
# XCTest is off because no test uses it: its "Executed 0 tests" would mislead.
test: ## installs what is missing, lints, builds, runs every test
	@deploy/install-dependencies test
	@deploy/install-foreign-clients
	@deploy/install-foreign-servers
	@deploy/install-checkers
	@deploy/install-browser
	@$(MAKE) --no-print-directory lint
	@mkdir -p .build; set -o pipefail; swift test --parallel --experimental-maximum-parallelization-width 8 --disable-xctest 2>&1 \
	  | tee .build/test.log || { grep -A 8 -E 'recorded an issue|error:' .build/test.log; tail -n 1 .build/test.log; exit 1; }

# Debug, because only that build can be broken on purpose. In the world's folder are the logs of what failed.
faults: ## kills, stops, fills, cuts and delays everything there is, and checks what is left (half an hour)
	@deploy/install-dependencies test
	swift build --product ClockShift && swift build --product faults
	@.build/debug/faults $(ARGS)
ifeq ($(ARGS),)
	CARILLON_TEST_FORM=long CARILLON_TEST_ENGINES=both swift test --disable-xctest --filter 'PushWorkerTests\.|CommandLineTests\.|EndToEndTests\.|BenchTests|DemoTests'
	CARILLON_TEST_FORM=long swift test --skip-build --disable-xctest --filter CampaignStoreTests
	CARILLON_AUDIENCE_USERS=200000 swift test --disable-xctest --filter AudienceProofTests
	CARILLON_TEST_REDIS=single swift test --skip-build --disable-xctest --filter CampaignStoreTests
	CARILLON_TEST_SIGNALS=2000 CARILLON_TEST_LOG_TARGETS=100000 CARILLON_TEST_ERASURE_KILLS=20 swift test --skip-build --disable-xctest --filter 'SignalTests|UnreadLogTests|ErasureProofTests'
endif

EXAMPLES := 100
fuzz: ## ask the API what its description allows and forbids, EXAMPLES=100 times an operation; measure time against input size
	@deploy/install-dependencies test
	@deploy/install-foreign-clients
	swift build --build-tests
	CARILLON_TEST_FUZZ=$(EXAMPLES) swift test --skip-build --disable-xctest --filter 'APITests/fuzzed|InputGrowthTests'

HOURS := 1
soak: ## the same for HOURS=1 in one world, with memory measured
	@deploy/install-dependencies test
	swift build --product faults
	@.build/debug/faults --soak $(HOURS) $(ARGS)

lint: ## check formatting, import directions, forbidden words and prose
	@swift format lint --strict --parallel --recursive Sources Tests Package.swift
	@.ci/check-imports --self-test
	@.ci/check-imports
	@.ci/check-prose --self-test
	@.ci/check-prose

KEEP ?=
demo: ## a private Redis, the simulator, 100,000 devices, three workers, one killed; KEEP=1 leaves it up with the page
	@deploy/install-dependencies demo
	swift build -c release --product carillon
	@CARILLON=$(CARILLON) KEEP=$(KEEP) deploy/demo/run

bench: ## everything measured beside what is asked of it, on this machine (ARGS='--only engine --rounds 3')
	@deploy/install-dependencies bench
	swift build -c release --product carillon && swift build -c release --product carillon-bench
	@$${CC:-cc} -O2 -o .build/release/curl-loop deploy/bench/curl-loop.c -lcurl
	@$(CARILLON)-bench --curl-loop .build/release/curl-loop $(ARGS)

# With the Swift library in it, so that it runs where there is no Swift.
deb: ## a Debian package with units, man pages and completions, in .build
	@deploy/install-dependencies build
	swift build -c release --product carillon --static-swift-stdlib
	@deploy/debian/build $(CARILLON) .build

clean: ## removes everything that was built
	swift package clean
