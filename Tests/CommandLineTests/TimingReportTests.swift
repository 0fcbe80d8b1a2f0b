import Foundation
import PushCore
import TestSupport
import Testing

/// `campaign show` for campaigns whose devices have times of their own, and for recurring jobs.
struct TimingReportTests {
  private func write(_ world: CarillonWorld, _ key: String, _ fields: [String]) async throws {
    let words = ["HSET", "{\(world.namespace)\(key)"] + fields
    let output = try await ChildProcess.run(
      "redis-cli", ["-u", world.server.url, "eval", "return redis.call(unpack(ARGV))", "0"] + words)
    try #require(output.exit == .status(0), "\(output.standardError)")
  }

  @Test func showCountsDevicesThatWaitForTheirTime() async throws {
    let world = try await CarillonWorld()
    try await write(
      world, "}:campaign:a",
      ["state", "active", "app", "news", "service", "apns", "lane", "normal", "slices", "2", "finished", "0"])
    for (partition, ready) in [(0, 1_796_119_200_000), (1, 1_796_115_600_000)] {
      try await write(
        world, ":\(partition)}:slice:a",
        ["phase", "sealed", "count", "1000", "granted", "300", "ready", "400", "readyAt", "\(ready)"])
    }
    let json = try JSONObject(try await world.succeed("campaign", "show", "a", "--json"))
    #expect(json.number("targets") == 2000 && json.number("pending") == 2000)
    #expect(json.object("ownTime")?.number("waiting") == 1200)
    #expect(json.object("ownTime")?.text("next") == "2026-12-01T09:00:00.000Z")
    let text = try await world.succeed("campaign", "show", "a")
    #expect(text.contains("1,200, the next at 2026-12-01T09:00:00.000Z"))
  }

  @Test func showHasTheNextRunOfARecurringJob() async throws {
    let world = try await CarillonWorld()
    try await write(
      world, "}:campaign:digest",
      [
        "state", "scheduled", "app", "news", "service", "apns", "lane", "normal", "slices", "0", "sendAt",
        "1796115600000", "repeat", "0 9 * * *", "runs", "3", "leftOut", "1", "lastRun", "digest~20261130T0900",
      ])
    let json = try JSONObject(try await world.succeed("campaign", "show", "digest", "--json"))
    let repetition = try #require(json.object("repeat"))
    #expect(repetition.text("cron") == "0 9 * * *" && repetition.text("next") == "2026-12-01T09:00:00.000Z")
    #expect(repetition.number("runs") == 3 && repetition.number("leftOut") == 1)
    #expect(repetition.text("last") == "digest~20261130T0900")
    let text = try await world.succeed("campaign", "show", "digest")
    #expect(text.contains("recurring, the next run at 2026-12-01T09:00:00.000Z"))
    #expect(text.contains("3, the latest is digest~20261130T0900"))
  }
}
