// swift-tools-version: 6.2
import PackageDescription

let settings: [SwiftSetting] = [
  .swiftLanguageMode(.v6),
  .enableUpcomingFeature("ExistentialAny"),
  .enableUpcomingFeature("InternalImportsByDefault"),
  .enableUpcomingFeature("MemberImportVisibility"),
  // An asynchronous function runs where its caller does: what is called once a commit must not hop between threads.
  .enableUpcomingFeature("NonisolatedNonsendingByDefault"),
]

// This pass of Swift 6.3.1 removes needed switches of the executor: after such a function has called `Task.sleep` or
// has thrown the error of a concurrent function, its caller may continue on a thread of the global pool instead of its
// actor's. `ExecutorTests` fails without this flag.
//
// Test modules are built without it. In a debug build, only the error of a concurrent function has this effect, and no
// actor of these modules calls such a function. With the flag, their compilation takes up to a fifth longer.
let keepsExecutor: SwiftSetting = .unsafeFlags(["-Xllvm", "-sil-disable-pass=optimize-hop-to-executor"])

func module(
  _ name: String, _ dependencies: [Target.Dependency], exclude: [String] = [], flags: [SwiftSetting] = [],
  plugins: [Target.PluginUsage] = []
) -> Target {
  .target(
    name: name, dependencies: dependencies, exclude: exclude, swiftSettings: settings + [keepsExecutor] + flags,
    plugins: plugins)
}

func program(_ name: String, _ dependencies: [Target.Dependency]) -> Target {
  .executableTarget(name: name, dependencies: dependencies, swiftSettings: settings + [keepsExecutor])
}

func tests(
  _ name: String, _ dependencies: [Target.Dependency], exclude: [String] = [], flags: [SwiftSetting] = []
) -> Target {
  .testTarget(
    name: name, dependencies: dependencies + ["TestKit"], exclude: exclude, swiftSettings: settings + flags)
}

let package = Package(
  name: "carillon",
  products: [
    .executable(name: "carillon", targets: ["carillon"]),
    .executable(name: "carillon-bench", targets: ["CarillonBench"]),
    .library(name: "ClockShift", type: .dynamic, targets: ["ClockShift"]),
    .library(name: "FalseResolver", type: .dynamic, targets: ["FalseResolver"]),
  ],
  // Exact, so that a build of this commit is the same build next year.
  dependencies: [
    .package(url: "https://github.com/HdrHistogram/hdrhistogram-swift", exact: "0.2.0"),
    .package(url: "https://github.com/apple/swift-argument-parser", exact: "1.8.2"),
    .package(url: "https://github.com/apple/swift-log", exact: "1.16.2"),
    .package(url: "https://github.com/jpsim/Yams", exact: "6.2.2"),
  ],
  targets: [
    .systemLibrary(name: "CCurl", pkgConfig: "libcurl", providers: [.apt(["libcurl4-openssl-dev"])]),
    .systemLibrary(name: "CLinux"),
    .systemLibrary(name: "CHiredis", providers: [.apt(["libhiredis-dev"])]),
    .systemLibrary(
      name: "CMicrohttpd", pkgConfig: "libmicrohttpd", providers: [.apt(["libmicrohttpd-dev"])]),
    .systemLibrary(name: "CNghttp2", pkgConfig: "libnghttp2", providers: [.apt(["libnghttp2-dev"])]),
    .systemLibrary(name: "COpenSSL", pkgConfig: "openssl", providers: [.apt(["libssl-dev"])]),

    .plugin(name: "EmbedText", capability: .buildTool(), path: "Sources/EmbedText"),

    module("EventLoop", ["CLinux"]),
    module("TextInput", []),
    module("TLS", ["EventLoop", "TextInput", "COpenSSL"]),
    module("HTTP2", ["CNghttp2"]),
    module("HTTPServer", ["CMicrohttpd"]),
    module("Redis", ["EventLoop", "TLS", "CHiredis"]),
    module("PushCore", ["TextInput"]),
    module(
      "PushTransport", ["PushCore", "TLS", "HTTP2", "EventLoop", "CCurl"], exclude: ["README.md"]),
    module("ServiceTools", ["PushTransport", "PushCore"]),
    module("APNs", ["ServiceTools", "PushTransport", "PushCore", "TLS"], exclude: ["README.md"]),
    module("FCM", ["ServiceTools", "PushTransport", "PushCore", "TLS"], exclude: ["README.md"]),
    module(
      "CampaignStore", ["PushCore", "Redis", "EventLoop"], exclude: ["README.md", "Keys.md"], plugins: ["EmbedText"]),
    // Dynamic checks of exclusive access here cost 6 % of a worker's instructions: 27,500 a target with them in all
    // modules, 25,800 without them in this one, 25,600 without any (callgrind, native engine, 100,000 targets). They
    // are left out here alone; every test runs with them.
    module(
      "PushWorker", ["PushCore", "CampaignStore", "PushTransport", "EventLoop"], exclude: ["README.md", "Failures.md"],
      flags: [.unsafeFlags(["-enforce-exclusivity=unchecked"], .when(configuration: .release))]),
    module(
      "Admin", ["HTTPServer", "CampaignStore", "PushCore", "Redis", "PushTransport", "PushWorker", "TLS"],
      exclude: ["README.md"], plugins: ["EmbedText"]),
    module("APNsSimulator", ["HTTP2", "TLS", "EventLoop"]),
    module(
      "CommandSupport",
      [
        "TextInput", "EventLoop", "TLS", "Redis", "PushCore", "PushTransport", "ServiceTools", "APNs", "FCM",
        "CampaignStore", "PushWorker",
        "APNsSimulator",
        "Yams",
        .product(name: "ArgumentParser", package: "swift-argument-parser"),
        .product(name: "Logging", package: "swift-log"),
      ]),
    program(
      "carillon",
      [
        "Admin", "HTTPServer", "CommandSupport", "EventLoop", "TLS", "Redis", "PushCore", "PushTransport",
        "ServiceTools", "APNs", "FCM", "CampaignStore",
        "PushWorker",
        "APNsSimulator",
        .product(name: "ArgumentParser", package: "swift-argument-parser"),
        .product(name: "Logging", package: "swift-log"),
      ]),
    program(
      "CarillonBench",
      [
        "CommandSupport", "EventLoop", "TLS", "Redis", "PushCore", "PushTransport", "ServiceTools", "APNs", "FCM",
        "CampaignStore", "PushWorker",
        "APNsSimulator",
        .product(name: "ArgumentParser", package: "swift-argument-parser"),
        .product(name: "Histogram", package: "hdrhistogram-swift"),
      ]),

    // Shared test tools: private Redis servers, scratch folders, and keys that are generated for a test.
    .target(
      name: "TestSupport", dependencies: ["TLS", "EventLoop", "PushTransport"], path: "Tests/TestSupport",
      swiftSettings: settings),
    // Additions to Swift Testing.
    .target(name: "TestKit", dependencies: ["TestSupport"], path: "Tests/TestKit", swiftSettings: settings),
    // A second push service. It tests the parts that must not depend on Apple.
    .target(
      name: "TestPushService", dependencies: ["PushCore", "PushTransport", "ServiceTools"],
      path: "Tests/TestPushService", swiftSettings: settings),
    // Fault tests: groups of processes with a fault, and the checks of the result.
    .target(
      name: "FaultKit",
      dependencies: [
        "carillon", "PushTransport", "APNs", "APNsSimulator", "CampaignStore", "FCM", "PushCore", "Redis", "EventLoop",
        "TLS", "TestSupport",
      ],
      path: "Tests/FaultKit", swiftSettings: settings),
    // Preloaded into workers that must have a wrong clock.
    .target(name: "ClockShift", path: "Tests/ClockShift"),
    // Preloaded into workers whose name server must not answer, or must return certain addresses.
    .target(name: "FalseResolver", path: "Tests/FalseResolver"),
    tests("FaultKitTests", ["FaultKit", "EventLoop", "TestSupport"]),
    .executableTarget(
      name: "faults",
      dependencies: [
        "FaultKit", "PushTransport", "LedgerModel", "TestSupport",
        .product(name: "ArgumentParser", package: "swift-argument-parser"),
      ],
      path: "Tests/Faults", swiftSettings: settings),
    tests("FaultTests", ["FaultKit", "PushTransport", "TestSupport"]),
    // The ledger as a model of pure values. Optimised in debug builds too: it is worth as much as it runs schedules,
    // 13,000 in a second of CPU time with this flag and 730 without it.
    .target(
      name: "LedgerModel", path: "Tests/LedgerModel", exclude: ["README.md"],
      swiftSettings: settings + [.unsafeFlags(["-O"])]),
    tests(
      "AdminTests",
      [
        "carillon", "Admin", "HTTPServer", "CommandSupport", "CampaignStore", "PushTransport", "ServiceTools",
        "PushCore", "PushWorker", "Redis", "TestSupport",
      ], exclude: ["API/Clients", "Dashboard/Browser"]),
    tests("EventLoopTests", ["EventLoop", "TestSupport"], flags: [keepsExecutor]),
    tests("TLSTests", ["TLS", "EventLoop", "TestSupport"]),
    tests("HTTP2Tests", ["HTTP2", "TestSupport"]),
    tests("RedisTests", ["Redis", "EventLoop", "TLS", "FaultKit", "TestSupport"]),
    tests(
      "PushCoreTests", ["PushCore", "ServiceTools", "APNs", "FCM", "TestSupport"],
      exclude: ["Timing/zone_witness.py", "job_schema_witness.py"]),
    tests(
      "APNsTests",
      ["APNs", "ServiceTools", "PushCore", "PushTransport", "TLS", "APNsSimulator", "TestSupport"]),
    tests(
      "FCMTests",
      ["FCM", "ServiceTools", "PushCore", "PushTransport", "TLS", "TestSupport"]),
    tests(
      "PushTransportTests",
      ["PushTransport", "APNs", "PushCore", "TLS", "HTTP2", "EventLoop", "APNsSimulator", "TestSupport"]),
    tests(
      "APNsSimulatorTests", ["APNsSimulator", "TLS", "HTTP2", "EventLoop", "TestSupport"], exclude: ["ForeignClients"]),
    tests(
      "CampaignStoreTests",
      [
        "CampaignStore", "PushCore", "APNs", "FCM", "Redis", "EventLoop", "LedgerModel", "TestPushService",
        "TestSupport",
      ],
      exclude: ["Formats"]),
    tests(
      "PushWorkerTests",
      [
        "PushWorker", "CampaignStore", "PushTransport", "APNs", "APNsSimulator", "PushCore", "Redis", "TLS", "HTTP2",
        "EventLoop", "HTTPServer", "FCM", "FaultKit", "TestPushService", "TestSupport",
      ]),
    tests("LedgerModelTests", ["LedgerModel", "TestSupport"]),
    tests(
      "CommandLineTests",
      [
        "carillon", "Admin", "HTTPServer", "CommandSupport", "CampaignStore", "PushTransport", "ServiceTools", "APNs",
        "FCM", "APNsSimulator", "PushCore", "PushWorker", "Redis", "TLS", "EventLoop", "TestPushService", "TestSupport",
        .product(name: "ArgumentParser", package: "swift-argument-parser"),
      ]),
    // The measured programs must be in the folder of the benchmark.
    tests("CarillonBenchTests", ["CarillonBench", "carillon", "CommandSupport", "Redis", "TestSupport"]),
    tests("DeployTests", ["carillon", "TestSupport"], exclude: ["Checks"]),
    tests("EndToEndTests", ["carillon", "PushCore", "PushTransport", "FaultKit", "TestSupport"]),
  ]
)
