import Foundation
import PushCore
import TestKit
import TestSupport
import Testing

/// The rate of a campaign in `campaign show`.
struct RateReportTests {
  /// Runs `campaign show` for a half-sent campaign: 400 of 800 targets in the last minute.
  private func show(_ rate: [String]) async throws -> (json: JSONObject, text: String) {
    let world = try await CarillonWorld()
    let began = Self.now - 60_000
    let fields = [
      "state", "active", "app", "news", "service", "apns", "lane", "normal", "slices", "8", "finished", "4", "targets",
      "400", "16", "400", "createdAt", "\(began)", "startedAt", "\(began)",
    ]
    let key = "{\(world.namespace)}:campaign:a"
    let words = ["HSET", key] + fields + rate
    let output = try await ChildProcess.run(
      "redis-cli", ["-u", world.server.url, "eval", "return redis.call(unpack(ARGV))", "0"] + words)
    try #require(output.exit == .status(0), "\(output.standardError)")
    return (
      try JSONObject(try await world.succeed("campaign", "show", "a", "--json")),
      try await world.succeed("campaign", "show", "a")
    )
  }

  /// ms since the epoch.
  private static var now: Int { Int(Date().timeIntervalSince1970 * 1000) }

  @Test func rateOfTheJob() async throws {
    let (json, text) = try await show(["rate", "2.5"])
    expect(json.double("rate") == 2.5 && json.text("spread") == nil)
    expect(text.contains("2.5 per second"))
    let plain = try await show([])
    expect(plain.json.names.contains("rate") && plain.json.double("rate") == nil)
    expect(!plain.text.contains("per second"))
  }

  @Test func rateThatFollowsFromTheTargetsAndATime() async throws {
    let (json, text) = try await show(["spread", "80"])
    expect(json.double("rate") == 10 && json.text("spread") == "80s")
    expect(text.contains("10 per second, over 80s"))
  }

  @Test func rateThatFollowsFromAnEnd() async throws {
    let end = Self.now + 3_600_000
    let (json, text) = try await show(["finishBy", "\(end)"])
    expect(json.text("finishBy") == Timestamp.format(milliseconds: end) && json.bool("isLate") == false)
    expect(try (0.11...0.12).contains(#require(json.double("rate"))))
    expect(text.contains("\(Timestamp.format(milliseconds: end)): 0.11"))
    // 400 targets took one minute.
    let late = try await show(["finishBy", "\(Self.now + 30_000)"])
    expect(late.json.bool("isLate"), is: true)
    expect(late.text.contains("will be late at the present speed; start more workers"))
    let past = try await show(["finishBy", "\(Self.now - 1000)"])
    expect(past.json.bool("isLate") == true && past.json.double("rate") == nil)
  }
}
