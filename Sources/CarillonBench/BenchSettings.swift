/// Durations and sizes of the measurements.
struct BenchSettings: Sendable {
  /// Seed of the tokens and of the simulator's random values.
  var seed: UInt64
  /// Number of rounds. Each round measures every variant.
  var rounds: Int
  /// Number of pushes in the measurement of an engine alone. Clients with libcurl send a fifth of this number.
  var requests: Int
  /// Number of devices of a whole campaign.
  var targets: Int
  /// Numbers of devices of the campaigns that measure growth.
  var sizes: [Int]
  /// Number of urgent campaigns, and of campaigns with one target.
  var samples: Int
  /// Numbers of clients that only claim slices.
  var clients: [Int]
  /// Duration in seconds of measurements with a fixed duration.
  var seconds: Double
  /// The engines of whole campaigns.
  var engines: [String]
  /// Path of the program built from `deploy/bench/curl-loop.c`. Without it, the curl engine is not compared.
  var curlLoop: String?
}

/// One part of the benchmark.
protocol BenchPart: Sendable {
  /// Measures, and reports each figure immediately.
  func measure(_ world: BenchWorld, _ settings: BenchSettings, _ report: BenchReport) async throws
}

/// The parts by name, in the order of their execution.
enum BenchParts {
  static let all: [(name: String, part: any BenchPart)] = [
    ("engine", EnginePart()), ("fcm", FCMPart()), ("ceiling", CeilingPart()), ("campaign", WholeCampaignPart()),
    ("personal", PersonalPart()), ("scraped", ScrapedPart()), ("growth", GrowthPart()),
    ("urgent", UrgentPart()), ("jobs", ExpensiveJobsPart()), ("single", SinglePart()), ("workers", WorkersPart()),
    ("claims", ClaimsPart()),
    ("fleet", FleetPart()), ("takeover", TakeoverPart()), ("import", ImportPart()), ("small", SmallPart()),
    ("events", EventsPart()), ("departures", DeparturesPart()), ("scale", ScalePart()),
  ]
}
