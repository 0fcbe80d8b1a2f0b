import Foundation
import TestSupport

/// Campaigns of one app and lane that compete for credit.
enum NeighbourCases {
  static let all = [oneTarget.measuring]

  /// Latency of APNs in seconds. It is long enough to keep the workers' windows full, so that a new campaign waits for
  /// credit.
  private static let latency = 0.3

  /// Each slice of the large campaign has more targets than a window, as in a campaign to a million targets in 256
  /// partitions.
  static let oneTarget = FaultCase(
    "neighbour-one-target", faults: ["a large campaign of the same app and lane"],
    invariant: "a campaign to one target waits for at most one commit of the large campaign", bound: "0"
  ) { stage in
    let world = try await stage.world {
      $0.partitions = stage.times(short: 8, full: 64)
      $0.window = 1000
      $0.devices = stage.times(short: 20_000, full: 200_000)
      $0.simulator = ["--latency", "\(Int(latency * 1000))ms"]
    }
    for number in 1...2 { try await world.worker("w\(number)") }
    let count = stage.times(short: 20, full: 100)
    // The first campaigns open the connections.
    _ = try await singles("warm", 2, world)
    let alone = try await singles("alone", count / 2, world)
    let large = FaultCampaign("large")
    try await world.push(large)
    try await world.reached(2000, of: large)
    let beside = try await singles("beside", count, world)
    if try await !world.hasEnded(large) { stage.fired("a large campaign of the same app and lane") }
    stage.addNote("alone: \(text(alone)); beside: \(text(beside)) (p50 / p99 / max)")
    let typical = at(0.5, alone)
    // A new campaign gets credit when answers for the large campaign arrive, and then waits for its own answer. So it
    // takes twice the latency, and longer on a loaded machine.
    stage.expect(at(0.5, beside) <= 2 * typical + 0.25, "the median is \(text(beside)); \(text(alone)) alone")
    stage.expect(at(0.99, beside) <= 3 * typical + 1, "the slowest are \(text(beside)); \(text(alone)) alone")
    try await world.simulator.setLatency(milliseconds: 0)
    try await world.ended(large, within: .seconds(600))
    try await stage.check(world)
  }

  /// Sends campaigns to one target each at a constant pace, without waiting for the previous one.
  ///
  /// - Returns: the sorted seconds from push to end of each campaign, on Redis' clock.
  private static func singles(_ name: String, _ count: Int, _ world: FaultWorld) async throws -> [Double] {
    try await withThrowingTaskGroup(of: Double.self) { group in
      for number in 0..<count {
        let user = number * (world.tokens.count / count)
        let campaign = FaultCampaign("\(name)-\(number)") {
          $0.audience = #"{"users":["u\#(user)"]}"#
          $0.tokens = [world.tokens[user]]
        }
        group.addTask { try await world.time(campaign, within: .seconds(60)) ?? .infinity }
        await elapse(.milliseconds(50))
      }
      return try await group.reduce(into: []) { $0.append($1) }.sorted()
    }
  }

  private static func at(_ share: Double, _ sorted: [Double]) -> Double {
    sorted[min(sorted.count - 1, Int(share * Double(sorted.count)))]
  }

  private static func text(_ sorted: [Double]) -> String {
    [0.5, 0.99, 1].map { String(format: "%.2f", at($0, sorted)) }.joined(separator: " / ") + " s"
  }
}
