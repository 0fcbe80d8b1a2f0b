/// How long and how large everything is that is measured.
struct BenchSettings: Sendable {
  /// What tokens and the simulator's chance follow from.
  var seed: UInt64
  /// How often everything is measured, in turn.
  var rounds: Int
  /// Pushes of an engine alone; a fifth of it for what uses libcurl.
  var requests: Int
  /// Devices of a whole campaign.
  var targets: Int
  /// Devices of the campaigns by which growth is judged.
  var sizes: [Int]
  /// Urgent campaigns, and campaigns with one target.
  var samples: Int
  /// Numbers of clients that do nothing but claim slices.
  var clients: [Int]
  /// Seconds of what is measured by time.
  var seconds: Double
  /// The engines that whole campaigns are sent by.
  var engines: [String]
  /// The built `deploy/bench/curl-loop.c`; the curl engine has nothing beside it without.
  var curlLoop: String?
}

/// One part of the benchmark.
protocol BenchPart: Sendable {
  /// Measures, and hands over each figure as soon as it is there.
  func measure(_ world: BenchWorld, _ settings: BenchSettings, _ report: BenchReport) async throws
}

/// The parts by name, in the order in which they run.
enum BenchParts {
  static let all: [(name: String, part: any BenchPart)] = [
    ("engine", EnginePart()), ("ceiling", CeilingPart()), ("campaign", CampaignPart()),
    ("personal", PersonalPart()), ("scraped", ScrapedPart()), ("growth", GrowthPart()),
    ("urgent", UrgentPart()), ("single", SinglePart()), ("workers", WorkersPart()), ("claims", ClaimsPart()),
    ("fleet", FleetPart()), ("takeover", TakeoverPart()), ("import", ImportPart()), ("small", SmallPart()),
    ("events", EventsPart()), ("departures", DeparturesPart()), ("scale", ScalePart()),
  ]
}
