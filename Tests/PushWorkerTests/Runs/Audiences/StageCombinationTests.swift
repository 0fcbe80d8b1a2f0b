import APNs
import APNsSimulator
import CampaignStore
import Foundation
import PushCore
import PushTransport
import PushWorker
import TestKit
import TestPushService
import TestSupport
import Testing

/// Combinations of stages with other fields, as whole campaigns. `Tests/Pages/stages.md` has the table.
///
/// Each device of the audience has one outcome, in one stage, and no stage begins before its gate opens.
@Suite(.timeLimit(.minutes(6)), .takesTurns) struct StageCombinationTests {
  private static let users = 120

  /// Other fields of a job with stages, and the expected result.
  struct Row: Sendable, CustomTestStringConvertible {
    var name: String
    /// Members of the job; `NOW` is an hour that is quiet now, `LATER` one that is not, `SOON` is in 20 s, and `WALL`
    /// is the local time in UTC in 4 s.
    var more = ""
    /// Members of each stage.
    var gate = ""
    /// The expected result, for the table.
    var result = "each user once"
    /// The offsets of the devices' time zones, in seconds ahead of UTC, by name. Gets the time of the submission in
    /// UNIX seconds.
    var zones: (@Sendable (Int) -> [String: Int])?
    /// The share of the users who get the push; `nil` for a random share.
    var share: Double? = 1
    var outcome = Outcome.accepted
    /// The least time in ms between the first and the last push, without the waits between stages.
    var takes = 0
    /// The least time in ms from the submission to the first push, and to the last push.
    var firstAfter = 0
    var lastAfter = 0
    /// Users who have reached their cap of the day.
    var capped = 0
    /// Seconds between two stages.
    var wait = 1
    /// The number of approvals that the campaign needs.
    var approvals = 0
    /// The number of pushes above which the campaign needs approval before it begins.
    var approvalAbove: Int?
    /// Whether each user also has a device of a second push service.
    var hasLegs = false

    var testDescription: String { name }
    var hasCompanion: Bool { more.contains("also") }
    var isRecurring: Bool { more.contains("repeat") }
    var isLocal: Bool { more.contains("localTime") }
  }

  /// Clocks show 07:59:55 at the submission.
  private static let almostEight: @Sendable (Int) -> [String: Int] = { ["Q": 8 * 3600 - 5 - $0 % 86_400] }

  static let rows = [
    Row(name: "nothing else"),
    Row(
      name: "quiet hours that are over",
      more: #","quietHours":{"from":"LATER:00","to":"LATER:30"},"defaultTimezone":"UTC""#),
    Row(
      name: "quiet hours that end after 5 s", more: #","quietHours":{"from":"22:00","to":"08:00"}"#,
      result: "each user once, after the quiet hours", zones: almostEight, firstAfter: 5000),
    Row(
      name: "quiet hours, drop", more: #","quietHours":{"from":"NOW:00","to":"LATER:00","then":"drop"}"#,
      result: "each push expires", outcome: .expired),
    Row(
      name: "local time", more: #","localTime":true,"sendAt":"WALL""#,
      result: "each user once, at the local time; each later stage on the next day",
      zones: { _ in ["A": 2, "B": 0] }, firstAfter: 2000, lastAfter: 4000),
    Row(name: "rate", more: #","rate":100"#, result: "each user once, at the rate", takes: 700),
    Row(name: "spread", more: #","spread":"2s""#, result: "each user once, over the time", takes: 1500),
    Row(
      name: "finishBy", more: #","finishBy":"SOON""#, result: "each user once, until the time", lastAfter: 14_000),
    Row(
      name: "control", more: #","control":0.3"#, result: "each user outside the control group once", share: nil),
    Row(
      name: "also", more: #","also":["widgets"]"#,
      result: "each user once; the widgets of a stage's users with their stage"),
    Row(name: "legs", result: "each user once on each service", hasLegs: true),
    Row(name: "caps", result: "each user once; users who have reached a cap are `capped`", capped: 40),
    Row(
      name: "approval at each gate", more: #","submittedBy":"ada""#, gate: #","approval":true"#,
      result: "each user once; a stage after its approval", approvals: 2),
    Row(
      name: "approval before the start", more: #","submittedBy":"ada""#, result: "each user once, after the approval",
      approvals: 1, approvalAbove: 50),
    // The time counts for each stage from the stage's own beginning, so it may be shorter than the two waits together.
    Row(name: "expiration", more: #","expiration":"12s""#, wait: 8),
    Row(name: "maxDuration", more: #","maxDuration":"12s""#, wait: 8),
    Row(name: "variants", more: #","variants":[{"name":"a"},{"name":"b","apns":{"payload":{"n":1}}}]"#),
    Row(
      name: "repeat", more: #","repeat":{"cron":"0 0 * * *"}"#, result: "each user once in the run"),
    Row(
      name: "several fields",
      more: #","rate":200,"control":0.2,"also":["widgets"],"expiration":"60s","submittedBy":"ada""#,
      gate: #","approval":true"#, result: "as for each field", share: nil, takes: 200, approvals: 2),
  ]

  /// A campaign of a row, with workers and servers.
  private struct Scene {
    let row: Row
    var rig: WorkerRig
    let server: TextServer?
    private let folder: ScratchFolder
    /// The time of the submission, in UNIX seconds.
    private(set) var start = 0
    /// The id of the campaign with the stages: of the run, if the job is recurring.
    private(set) var id = "story"
    private(set) var approvals = 0
    /// Stages that were moved to an earlier day.
    private var moved: Set<String> = []

    init(_ row: Row) async throws {
      self.row = row
      folder = try ScratchFolder()
      let zones = row.zones?(start).keys.sorted() ?? []
      rig = try await WorkerRig(
        engine: .native, partitions: 4,
        zones: zones.isEmpty ? .system : ZoneDatabase(folder: folder.url.path),
        others: row.hasLegs ? [TextService()] : [])
      rig.channel.approvalAbove = row.approvalAbove
      try await rig.register(users, zones: zones.isEmpty ? [""] : zones)
      if row.hasLegs {
        let text = try await TextServer.start(in: rig.folder)
        server = text.server
        rig.channel.services.append(text.channel)
        try await rig.store.registry.register(
          (0..<users).map { number in
            var device = DeviceRecord(token: Array("t:\(number)".utf8), service: "text")
            (device.app, device.registeredAt) = ("news", 1000)
            return DeviceRegistration(user: "u\(number)", device: device)
          })
      } else {
        server = nil
      }
      if row.hasCompanion { try await registerWidgets() }
    }

    private func registerWidgets() async throws {
      try await rig.store.registry.register(
        (0..<users).map { number in
          var device = DeviceRecord(token: WorkerRig.token(1000 + number), service: "apns")
          (device.app, device.kind) = ("news", .widgets)
          return DeviceRegistration(user: "u\(number)", device: device)
        })
      rig.simulator.load(
        (0..<users).map {
          SimulatedDevice(
            token: WorkerRig.token(1000 + $0), state: .registered, topic: "\(WorkerRig.topic).push-type.widgets")
        })
    }

    /// Lets the first users reach the cap of the day.
    mutating func capUsers() async throws {
      guard row.capped > 0 else { return }
      rig.channel.caps = [FrequencyCap(most: 1, seconds: 86_400)]
      let users = (0..<row.capped).map { "\"u\($0)\"" }.joined(separator: ",")
      try await rig.submit("before", audience: "{\"users\":[\(users)]}")
      try await rig.worker("w").run()
    }

    mutating func submit() async throws {
      start = Int(Date().timeIntervalSince1970)
      if let zones = row.zones { try ZoneFile.write(zones(start), to: folder.url) }
      let hour = start / 3600 % 24
      func text(_ hour: Int) -> String { hour % 24 < 10 ? "0\(hour % 24)" : "\(hour % 24)" }
      let more = row.more.replacing("LATER", with: text(hour + 12)).replacing("NOW", with: text(hour))
        .replacing("SOON", with: Timestamp.format(milliseconds: (start + 20) * 1000))
        .replacing("WALL", with: WallTime.format(start + 4))
      let gate = #""wait":"\#(row.wait)s"\#(row.gate)"#
      try await rig.submit(
        "story", #","stages":[{"users":["u1","u2"],\#(gate)},{"share":0.4,\#(gate)}]"# + more,
        content: row.hasLegs ? #""message":{"body":"Hi"}"# : #""apns":{"payload":{"aps":{"alert":"hi"}}}"#)
    }

    /// Acts as a person and as the clock, until a condition holds: gives approvals, begins the run of a recurring
    /// campaign, and lets a day pass before a stage that waits for its local time.
    mutating func act(until isDone: (CampaignRecord) -> Bool) async throws {
      if row.isRecurring, id == "story" { id = try await beginRun() }
      let (rig, id) = (rig, id)
      try await rig.until {
        guard let record = try await rig.store.campaigns.find(id) else { return false }
        if record.waitsForApproval {
          expect(try await rig.store.campaigns.approve(id, by: "bob"), is: .active)
          approvals += 1
        }
        for part in record.parts where part.state == .scheduled && part.id != id + "~1" && row.isLocal {
          try await moveToYesterday(part)
        }
        return isDone(record)
      }
    }

    private func beginRun() async throws -> String {
      try await rig.until { try await rig.store.campaigns.find("story")?.state == .scheduled }
      try await rig.reschedule("story", to: start / 86_400 * 86_400_000)
      try await rig.until { try await rig.store.campaigns.find("story")?.repetition?.lastRun != nil }
      let run = try #require(try await rig.store.campaigns.find("story")?.repetition?.lastRun)
      try await rig.until { try await rig.store.campaigns.find(run) != nil }
      return run
    }

    /// Moves a stage that waits for its local time on the next day to the day before.
    private mutating func moveToYesterday(_ part: CampaignRecord) async throws {
      guard moved.insert(part.id).inserted else { return }
      let wait = try #require(part.times.sendAt) - part.start
      expect((1...86_400_000).contains(wait), "\(part.id) waits for \(wait) ms")
      try await rig.command("HINCRBY", "campaign:" + part.id, "start", "-86400000")
      try await rig.reschedule(part.id, to: part.start - 1000)
    }
  }

  @Test(arguments: TestForm.rows(rows, inParts: 2))
  func stagesWorkWithOtherFields(row: Row) async throws {
    var scene = try await Scene(row)
    try await scene.capUsers()
    try await scene.submit()
    // One worker stops in the middle of the campaign, and another continues.
    for (name, isHalf) in [("one", true), ("two", false)] {
      let worker = scene.rig.worker(name, lease: 500, drains: false)
      async let running: Void = worker.run()
      try await scene.act { record in
        isHalf ? record.parts.first?.times.finishedAt != nil : record.times.finishedAt != nil
      }
      await worker.stop()
      try await running
    }
    let (rig, id) = (scene.rig, scene.id)
    let record = try #require(try await rig.store.campaigns.show(id))
    expect(record.state == .completed && record.parts.filter { $0.state != .completed }.isEmpty)
    expect(scene.approvals, is: row.approvals)
    let results = try await rig.results(id)
    expect(results.count, is: Set(results.map { "\($0.user) \($0.service)" }).count)
    let (control, devices) = (record.counters.control, row.hasLegs ? 2 : 1)
    expect(results.count + control == devices * Self.users && (row.share == nil) == (control > 0))
    let outcomes = Dictionary(grouping: results) { $0.outcome }.mapValues(\.count)
    expect(outcomes[row.outcome] == results.count - row.capped && outcomes[.capped] ?? 0 == row.capped)
    expect(record.counters.targets, is: results.count)
    try await expectStages(scene, record)
    let all = results.map { Int($0.at) }
    let (first, last) = (try #require(all.min()), try #require(all.max()))
    expect(last - first >= row.wait * 2000 + row.takes, "\(last - first)")
    expect(first >= scene.start * 1000 + row.firstAfter && last >= scene.start * 1000 + row.lastAfter)
    expect(await rig.simulator.counters().duplicatesReceived, is: 0)
    if let server = scene.server {
      let accepted = await server.book.accepted
      expect(accepted.count == Self.users && Set(accepted).count == Self.users)
      await server.stop()
    }
  }

  /// Expects that a stage begins only after all outcomes of the stage before, and after the wait, and that a companion
  /// reaches the users of its stage.
  private func expectStages(_ scene: Scene, _ record: CampaignRecord) async throws {
    let legs = scene.row.hasLegs ? ["-apns", "-text"] : [""]
    var end = 0
    for stage in ["1", "2", "rest"] {
      var users: [String] = []
      var ends: [Int] = []
      for leg in legs {
        let id = "\(record.id)~\(stage)\(leg)"
        let part = try #require(try await scene.rig.store.campaigns.find(id))
        let results = try await scene.rig.results(id)
        expect(results.allSatisfy { Int($0.at) >= end + (end > 0 ? scene.row.wait * 1000 : 0) }, "\(id)")
        users = results.map(\.user).sorted()
        ends.append(try #require(part.times.finishedAt))
        guard scene.row.hasCompanion else { continue }
        let companion = try await scene.rig.results(id + ".widgets")
        expect(companion.map(\.user).sorted() == users && companion.allSatisfy { $0.outcome == .accepted }, "\(id)")
      }
      end = ends.max() ?? 0
      // Listed users of a stage are never excluded by a random selection, and they are first.
      if stage == "1" { expect(users, is: ["u1", "u2"]) } else { expect(users.count > 20) }
    }
  }

  @Test func limitIsRefused() throws {
    let job =
      #"{"id":"a","app":"news","audience":{"segment":"*","limit":5},"apns":{"payload":{"aps":{"badge":1}}},"stages":[{"share":0.1}]}"#
    let error = #expect(throws: JobError.self) { try CampaignJob.parse(Array(job.utf8), .any([APNsService()])) }
    expect(error?.message.contains("can't be combined with audience.limit"), is: true)
  }

  @Test func pageHasEveryRow() throws {
    var rows = Self.rows.map { row -> [String] in
      let gate = row.gate.isEmpty ? "" : " `\(row.gate.dropFirst())` in each stage"
      let more = row.more.isEmpty ? "" : "`\(row.more.dropFirst())`"
      return [row.name, (more + gate).trimmingPrefix { $0 == " " }.description, row.result]
    }
    rows.append(["limit", #"`"audience":{"segment":"*","limit":5}`"#, "refused: `limitIsRefused`"])
    let table = DocumentedTable("stages", head: ["with", "fields", "result"], rows: rows)
    expect(try table.documented(), is: table.markdown, "CARILLON_WRITE_TABLES=1 writes it")
  }
}
