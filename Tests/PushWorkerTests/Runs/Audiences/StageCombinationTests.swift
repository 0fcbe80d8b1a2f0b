import APNs
import APNsSimulator
import CampaignStore
import Foundation
import PushCore
import PushTransport
import PushWorker
import TestSupport
import Testing

/// Combinations of stages with other fields. Each user of the audience has one outcome, in one stage, and no stage
/// begins before its gate opens.
@Suite struct StageCombinationTests {
  private static let users = 120

  /// Other fields of a job with stages, and the expected result.
  struct Row: Sendable, CustomTestStringConvertible {
    var name: String
    /// Members of the job; `NOW` is an hour that is quiet now, `LATER` one that is not, `SOON` is in 6 s.
    var more: String
    /// The share of the users who get the push; `nil` for a random share.
    var share: Double? = 1
    var outcome = Outcome.accepted
    /// The least time in ms between the first and the last push, without the waits between stages.
    var takes = 0
    /// The least time from the submission to the last push, in ms.
    var lastAfter = 0
    /// Users who have reached their cap of the day.
    var capped = 0
    /// Seconds between two stages.
    var wait = 1

    var testDescription: String { name }
  }

  static let rows = [
    Row(name: "nothing else", more: ""),
    Row(name: "quiet hours, hold", more: #","quietHours":{"from":"LATER:00","to":"LATER:30"},"defaultTimezone":"UTC""#),
    Row(
      name: "quiet hours, drop", more: #","quietHours":{"from":"NOW:00","to":"LATER:00","then":"drop"}"#,
      outcome: .expired),
    Row(name: "rate", more: #","rate":100"#, takes: 700),
    Row(name: "spread", more: #","spread":"2s""#, takes: 1500),
    Row(name: "finishBy", more: #","finishBy":"SOON""#, lastAfter: 4000),
    Row(name: "control", more: #","control":0.3"#, share: nil),
    Row(name: "also", more: #","also":["widgets"]"#),
    Row(name: "caps", more: "", capped: 40),
    // The time counts for each stage from the stage's own beginning, so it may be shorter than the two waits together.
    Row(name: "expiration", more: #","expiration":"12s""#, wait: 8),
    Row(name: "maxDuration", more: #","maxDuration":"12s""#, wait: 8),
    Row(name: "variants", more: #","variants":[{"name":"a"},{"name":"b","apns":{"payload":{"n":1}}}]"#),
    Row(
      name: "everything", more: #","rate":200,"control":0.2,"also":["widgets"],"expiration":"60s""#, share: nil,
      takes: 200),
  ]

  private func text(_ more: String, _ now: Int) -> String {
    let hour = now / 3600 % 24
    func text(_ hour: Int) -> String { hour % 24 < 10 ? "0\(hour % 24)" : "\(hour % 24)" }
    return more.replacing("LATER", with: text(hour + 12)).replacing("NOW", with: text(hour))
      .replacing("SOON", with: Timestamp.format(milliseconds: (now + 6) * 1000))
  }

  @Test(arguments: rows)
  func stagesWorkWithOtherFields(row: Row) async throws {
    var rig = try await WorkerRig(engine: .native, partitions: 4)
    try await rig.register(Self.users)
    if row.capped > 0 {
      rig.channel.caps = [FrequencyCap(most: 1, seconds: 86_400)]
      let users = (0..<row.capped).map { "\"u\($0)\"" }.joined(separator: ",")
      try await rig.submit("before", audience: "{\"users\":[\(users)]}")
      try await rig.worker("w").run()
    }
    let now = try await rig.store.time() / 1_000_000
    try await rig.submit(
      "story",
      #","stages":[{"users":["u1","u2"],"wait":"\#(row.wait)s"},{"share":0.4,"wait":"\#(row.wait)s"}]"#
        + text(row.more, now))
    // One worker stops in the middle of the campaign, and another continues.
    let first = rig.worker("one", lease: 500, drains: false)
    async let gone: Void = first.run()
    try await rig.until { try await rig.store.campaigns.find("story~1")?.times.finishedAt != nil }
    await first.stop()
    try await gone
    try await rig.worker("two", lease: 500).run()
    let record = try #require(try await rig.store.campaigns.show("story"))
    #expect(record.state == .completed && record.parts.filter { $0.state != .completed }.isEmpty)
    let results = try await rig.results("story")
    #expect(results.count == Set(results.map(\.user)).count)
    let control = record.counters.control
    #expect(results.count + control == Self.users && (row.share == nil) == (control > 0))
    let outcomes = Dictionary(grouping: results) { $0.outcome }.mapValues(\.count)
    #expect(outcomes[row.outcome] == results.count - row.capped && outcomes[.capped] ?? 0 == row.capped)
    // Listed users of a stage are never excluded by a random selection, and they are first.
    let listed = try await rig.results("story~1")
    #expect(listed.map(\.user).sorted() == ["u1", "u2"])
    var end = 0
    for id in ["story~1", "story~2", "story~rest"] {
      let part = try #require(try await rig.store.campaigns.find(id))
      // A stage begins only after all outcomes of the stage before, and after the wait.
      let at = try await rig.results(id).map { Int($0.at) }
      #expect(at.allSatisfy { $0 >= end + (end > 0 ? row.wait * 1000 : 0) }, "\(id)")
      end = try #require(part.times.finishedAt)
    }
    let all = results.map { Int($0.at) }
    let took = try #require(all.max()) - #require(all.min())
    #expect(took >= row.wait * 2000 + row.takes, "\(took)")
    #expect(try #require(all.max()) >= now * 1000 + row.lastAfter)
    #expect(await rig.simulator.counters().duplicatesReceived == 0)
  }

  @Test func limitIsRefused() throws {
    let job =
      #"{"id":"a","app":"news","audience":{"segment":"*","limit":5},"apns":{"payload":{"aps":{"badge":1}}},"stages":[{"share":0.1}]}"#
    let error = #expect(throws: JobError.self) { try CampaignJob.parse(Array(job.utf8), .any([APNsService()])) }
    #expect(error?.message.contains("can't be combined with audience.limit") == true)
  }
}
