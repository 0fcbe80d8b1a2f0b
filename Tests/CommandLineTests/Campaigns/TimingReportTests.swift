import Foundation
import PushCore
import TestKit
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
    expect(json.number("targets") == 2000 && json.number("pending") == 2000)
    expect(json.object("ownTime")?.number("waiting"), is: 1200)
    expect(json.object("ownTime")?.text("next"), is: "2026-12-01T09:00:00.000Z")
    let text = try await world.succeed("campaign", "show", "a")
    expect(text.contains("1,200, the next at 2026-12-01T09:00:00.000Z"))
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
    expect(repetition.text("cron") == "0 9 * * *" && repetition.text("next") == "2026-12-01T09:00:00.000Z")
    expect(repetition.number("runs") == 3 && repetition.number("leftOut") == 1)
    expect(repetition.text("last"), is: "digest~20261130T0900")
    let text = try await world.succeed("campaign", "show", "digest")
    expect(text.contains("recurring, the next run at 2026-12-01T09:00:00.000Z"))
    expect(text.contains("3, the latest is digest~20261130T0900"))
  }

  /// A recurring campaign shows its runs that have not ended, with their counts: a run that is being sent, a run with
  /// stages that is paused, and a run that no worker has taken in. It does not show a run that has ended.
  @Test func showHasTheOpenRunsOfARecurringJob() async throws {
    let world = try await CarillonWorld()
    let runs = (7...10).map { "digest~20261130T\($0 < 10 ? "0" : "")\($0)00" }
    let campaign = ["app", "news", "service", "apns", "lane", "normal"]
    try await write(
      world, "}:campaign:digest",
      campaign + [
        "state", "scheduled", "slices", "0", "sendAt", "1796115600000", "repeat", "0 * * * *", "runs", "4", "lastRun",
        runs[3], "openRuns", runs[..<3].joined(separator: " "), "pending", "1",
      ])
    try await write(
      world, "}:campaign:" + runs[0],
      campaign + ["state", "completed", "slices", "1", "finished", "1", "finishedAt", "9"])
    try await write(world, "}:campaign:" + runs[1], campaign + ["state", "active", "slices", "2", "finished", "0"])
    try await write(
      world, ":0}:slice:" + runs[1], ["phase", "sealed", "count", "50", "granted", "30", "16", "20", "17", "4"])
    try await write(
      world, "}:campaign:" + runs[2],
      campaign + ["state", "paused", "reason", "looks bad", "slices", "0", "parts", "1 rest", "stage", "0"])
    for (part, fields) in [
      ("1", ["state", "completed", "slices", "1", "finished", "1", "targets", "7", "16", "7", "finishedAt", "9"]),
      ("rest", ["state", "paused", "slices", "0", "gated", "1"]),
    ] {
      try await write(world, "}:campaign:\(runs[2])~\(part)", campaign + fields + ["of", runs[2]])
    }
    let json = try JSONObject(try await world.succeed("campaign", "show", "digest", "--json"))
    let open = try #require(json.object("repeat")?.objects("open"))
    expect(open.compactMap { $0.text("id") }, is: Array(runs[1...]))
    expect(open.compactMap { $0.text("state") }, is: ["active", "paused", "queued"])
    expect(open.map { $0.text("reason") }, is: [nil, "looks bad", nil])
    expect(open.map { $0.number("targets") }, is: [50, 7, nil])
    let counts = open.map {
      [$0.object("outcomes")?.number("accepted"), $0.object("outcomes")?.number("unregistered")]
    }
    expect(counts, is: [[20, 4], [7, nil], [nil, nil]])
    let text = try await world.succeed("campaign", "show", "digest")
    let rows = text.split(separator: "\n").filter { $0.hasPrefix("open run") }
    expect(rows.count == 3 && !text.contains(runs[0]))
    expect(text.contains("\(runs[1]) active: 24 of"), "\(text)")
    expect(text.contains("\(runs[2]) paused: 7 of 7 (100%), accepted 7; looks bad"), "\(text)")
    expect(text.contains("\(runs[3]) queued"), "\(text)")
    // A run's own report has no runs.
    let run = try JSONObject(try await world.succeed("campaign", "show", runs[1], "--json"))
    expect(run.object("repeat") == nil && run.number("pending") == 26)
  }
}
