/// Durations and sizes of the measurements.
struct BenchSettings: Sendable {
  /// Seed of the tokens and of the simulator's random values.
  var seed: UInt64
  /// Number of rounds. Each round measures every variant.
  var rounds: Int
  /// Pushes of an engine alone; a fifth of it for clients with libcurl.
  var requests: Int
  /// Devices of a whole campaign.
  var targets: Int
  /// Devices of the campaigns that measure growth.
  var sizes: [Int]
  /// Number of urgent campaigns, and of campaigns with one target.
  var samples: Int
  /// Numbers of clients that only claim slices.
  var clients: [Int]
  /// Duration in seconds of measurements by time.
  var seconds: Double
  /// The engines of whole campaigns.
  var engines: [String]
  /// The built `deploy/bench/curl-loop.c`. Without it the curl engine is not compared.
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
    ("urgent", UrgentPart()), ("single", SinglePart()), ("workers", WorkersPart()), ("claims", ClaimsPart()),
    ("fleet", FleetPart()), ("takeover", TakeoverPart()), ("import", ImportPart()), ("small", SmallPart()),
    ("events", EventsPart()), ("departures", DeparturesPart()), ("scale", ScalePart()),
  ]
}
