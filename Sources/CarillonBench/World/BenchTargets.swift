/// Targets of the benchmark's figures, on two cores that client, simulator and Redis share.
enum BenchTargets {
  /// The targets by the figure's key.
  static let bounds: [String: Figure.Bound] = [
    "engine.native/h2load": .atMost(0.7),
    "fcm.native/apns": .atMost(1.3),
    "fcm.rate/h2load": .atLeast(0.85),
    "ceiling.native.1": .atLeast(0.95),
    "ceiling.native.2": .atLeast(0.95),
    "engine.curl/loop": .atMost(1.15),
    "campaign.native.failures.worker": .atMost(6),
    "campaign.native.all.worker": .atMost(8),
    "campaign.native.all.redis": .atMost(2.5),
    "campaign.native.failures.rate": .atLeast(120_000),
    "personal.ratio": .atMost(2),
    "scraped.worker": .atMost(1.01),
    "growth.worker.ratio": .atMost(1.2),
    "growth.worker.peak": .atMost(150),
    "growth.redis.none": .atMost(80),
    "growth.redis.all": .atMost(240),
    "urgent.first": .atMost(100),
    "jobs.first": .atMost(200),
    "single.first": .atMost(10),
    "fleet.commands": .atMost(4),
    "fleet.redis": .atMost(100),
    "fleet.worker": .atMost(0.3),
    "fleet.paused": .atMost(1.1),
    "takeover.p99": .atMost(2000),
    "import.rate": .atLeast(100_000),
    "import.redis": .atMost(6),
    "small.seconds": .atMost(1),
    "events.rate": .atLeast(50_000),
    "departures.ratio": .atLeast(0.95),
    "scale.share": .atMost(5),
  ]
  /// Share of all cores. If the benchmark's processes used at least this share, the machine was the limit.
  static let saturation = 0.95
}
