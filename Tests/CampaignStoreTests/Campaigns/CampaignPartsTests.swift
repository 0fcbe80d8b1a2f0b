@testable import CampaignStore
import APNs
import PushCore
import Redis
import TestKit
import TestSupport
import Testing

/// A campaign with stages or companions as one campaign. It is written in one step, controlled in one step, and ends
/// with its last part.
@Suite(.takesTurns) struct CampaignPartsTests {
  private static let stages = #","stages":[{"share":0.3,"wait":"1h","maxFailures":0.1}],"also":["widgets"]"#
  private static let now = #","stages":[{"share":0.3},{"share":0.3}],"expiration":"4h""#

  private func states(_ id: String, _ world: TestStore) async throws -> [CampaignState] {
    let record = try #require(try await world.store.campaigns.find(id))
    return [record.state] + record.parts.map(\.state)
  }

  /// Ends a part as if all its targets had been accepted.
  ///
  /// - Parameter outcomes: the number of targets by outcome.
  private func end(_ id: String, outcomes: [Outcome: Int] = [:], _ world: TestStore) async throws {
    let (record, job) = try #require(try await world.store.campaigns.findWithJob(id))
    let campaign = try record.campaign(job, .any([APNsService()]))
    _ = try await world.store.audiences.fixPartitions(of: campaign)
    for partition in (try #require(try await world.store.campaigns.find(id))).reachedPartitions {
      let slice = SliceReference(campaign: id, partition: partition)
      var counters: [(String, Int)] = []
      if partition == 0 {
        counters = outcomes.map { ("\($0.key.rawValue)", $0.value) } + [("targets", outcomes.values.reduce(0, +))]
      }
      _ = try await world.store.slices.finish(slice, adding: counters, lane: .normal, worker: "w")
    }
  }

  /// Checks the gates that are due.
  private func look(_ world: TestStore) async throws -> [GateFinding] {
    var findings: [GateFinding] = []
    for (id, dueAt) in try await world.store.dueTasks("w").gates {
      findings.append(try await world.store.campaigns.checkGate(of: id, dueAt: dueAt))
    }
    return findings
  }

  private func gate(_ id: String, _ world: TestStore) async throws -> Int? {
    try await world.command("ZSCORE", world.keys.gates, id).string.flatMap { Int($0) }
  }

  private func problems(_ world: TestStore) async throws -> [StoreFinding] {
    var findings: [StoreFinding] = []
    _ = try await world.store.repair.check(pause: .zero) { findings += $0 }
    return findings
  }

  // MARK: Beginning

  @Test(arguments: Backend.wholeWay)
  func campaignAndPartsAreWrittenTogetherAndOnce(on backend: Backend) async throws {
    let world = try await TestStore(on: backend, partitions: 2)
    try await world.activate("a", Self.stages)
    let record = try #require(try await world.store.campaigns.find("a"))
    expect(
      record.staging.partIDs == ["a~1", "a~1.widgets", "a~rest", "a~rest.widgets"] && record.staging.current == 0)
    expect(record.parts.map(\.staging.whole), is: Array(repeating: "a", count: 4))
    expect(try await states("a", world), is: [.active, .active, .active, .waiting, .waiting])
    // The lane has the parts that can be sent, and the producers' list is empty.
    expect(
      try await world.command("LRANGE", world.keys.lane("normal"), 0, -1).map(\.string), is: ["a~1", "a~1.widgets"])
    expect(try await world.command("LLEN", world.keys.campaigns).integer, is: 0)
    expect(try await world.command("LLEN", world.keys.open("a~rest")).integer, is: 0)
    // The partitions and definitions of a stage are fixed when the stage begins.
    expect(record.parts.map(\.placement.isNarrowed), is: [true, true, false, false])
    let job = TestStore.job("a", audience: #"{"segment":"*"}"#, Self.stages)
    let again = try await world.store.queue.activate(
      CampaignJob.parse(job, .any([APNsService()])), job: job, worker: "other", narrowed: true)
    expect(again, is: .duplicate)
    // Every list of campaigns shows one campaign.
    expect(try await world.store.campaigns.all().map(\.id), is: ["a"])
    expect(try await world.store.campaigns.page(.init(), from: nil, count: 10).elements.map(\.id), is: ["a"])
    expect(try await problems(world), is: [])
  }

  @Test(arguments: Backend.wholeWay)
  func campaignWithoutThemHasNoParts(on backend: Backend) async throws {
    let world = try await TestStore(on: backend, partitions: 1)
    try await world.activate("a", #","stages":null,"also":[]"#)
    let fields = try await world.command("HKEYS", world.keys.campaign("a")).compactMap(\.string)
    expect(Set(fields).isDisjoint(with: ["parts", "of", "stage", "gated", "start", "variant"]))
    expect(try await world.command("EXISTS", world.keys.gates).integer, is: 0)
    // A campaign with a companion and without stages has one part of each kind.
    try await world.activate("b", #","also":["widgets","controls"]"#)
    expect(
      try await world.store.campaigns.find("b")?.staging.partIDs, is: ["b~main", "b~main.widgets", "b~main.controls"])
    expect(try await states("b", world), is: [.active, .active, .active, .active])
  }

  @Test(arguments: Backend.wholeWay)
  func scheduledCampaignBeginsWithItsFirstStage(on backend: Backend) async throws {
    let world = try await TestStore(on: backend, partitions: 1)
    let time = try await world.store.time() / 1000 + 3_600_000
    try await world.activate("a", Self.stages + #","sendAt":"\#(Timestamp.format(milliseconds: time))""#)
    expect(try await states("a", world), is: [.scheduled, .scheduled, .scheduled, .waiting, .waiting])
    expect(try await world.store.campaigns.isIdle())
    expect(try await world.store.campaigns.scheduled(count: 10).map(\.id), is: ["a"])
    expect(try await world.store.queue.repairSchedule(from: 0).begun, is: [])
    expect(try await problems(world), is: [])
    for id in ["a", "a~1", "a~1.widgets"] { try await world.command("HSET", world.keys.campaign(id), "sendAt", 1) }
    expect(try await Set(world.store.queue.repairSchedule(from: 0).begun), is: ["a~1", "a~1.widgets"])
    expect(try await states("a", world), is: [.active, .active, .active, .waiting, .waiting])
    expect(try await !world.store.campaigns.isIdle())
  }

  // MARK: Gates

  @Test(arguments: Backend.wholeWay)
  func gateOpensWhenOutcomesAndWaitAreThere(on backend: Backend) async throws {
    let world = try await TestStore(on: backend, partitions: 2)
    try await world.activate("a", Self.stages)
    // Stage 1 has targets without an outcome. The gate is checked again later, but not soon.
    expect(try await look(world), is: [.waits])
    expect(try await look(world), is: [])
    try await end("a~1", outcomes: [.accepted: 10], world)
    let finishedAt = try #require(try await world.store.campaigns.find("a~1")?.times.finishedAt)
    expect(try await look(world), is: [.waits])
    expect(try await gate("a", world), is: finishedAt + 3_600_000)
    expect(try await states("a", world), is: [.active, .completed, .active, .waiting, .waiting])
    // Simulates that an hour passes.
    try await world.command("HINCRBY", world.keys.campaign("a~1"), "finishedAt", -3_600_000)
    try await world.command("ZADD", world.keys.gates, 1, "a")
    expect(try await look(world), is: [.opened(stage: "rest", winner: nil)])
    expect(try await states("a", world), is: [.active, .completed, .active, .active, .active])
    expect(try await gate("a", world), is: nil)
    expect(try await world.command("LLEN", world.keys.open("a~rest")).integer, is: 2)
    // Redis may lose the list of gates. The repair adds a missing entry, and an unneeded entry leaves again.
    _ = try await world.store.queue.repairSchedule(from: 0)
    expect(try await gate("a", world), is: 0)
    expect(try await look(world), is: [.waits])
    expect(try await gate("a", world), is: nil)
    expect(try await world.store.campaigns.timeline(of: "a").map(\.verb), is: [.open])
    expect(try await problems(world), is: [])
  }

  @Test(arguments: Backend.wholeWay)
  func stageBeginsOnceAndItsTimesCountFromThere(on backend: Backend) async throws {
    let world = try await TestStore(on: backend, partitions: 1)
    let before = try await world.store.time() / 1_000_000
    try await world.activate("a", Self.now)
    let begun = try #require(try await world.store.campaigns.find("a~1"))
    // A second may end between the worker's reading of the clock and the script's.
    let expiration = try #require(begun.delivery.expiration)
    expect((before...begun.start / 1000).contains(expiration - 4 * 3600))
    try await end("a~1", outcomes: [.accepted: 10], world)
    let due = try #require(try await gate("a", world))
    let findings = try await withThrowingTaskGroup(of: GateFinding.self) { group in
      for _ in 0..<8 {
        group.addTask {
          let client = try await backend.connect()
          defer { Task { await client.close() } }
          let store = CampaignStore(redis: client, keys: world.keys, services: TestStore.services)
          return try await store.campaigns.checkGate(of: "a", dueAt: due)
        }
      }
      return try await group.reduce(into: []) { $0.append($1) }
    }
    expect(findings.count { $0 == .opened(stage: "2", winner: nil) }, is: 1)
    expect(try await world.store.campaigns.find("a")?.staging.current, is: 1)
    let second = try #require(try await world.store.campaigns.find("a~2"))
    expect(second.start >= due && second.delivery.expiration == second.start / 1000 + 4 * 3600)
    expect(try await world.store.campaigns.find("a~rest")?.staging.isGated, is: true)
    // Redis lost the beginning of the stage, and two workers restore it at the same time.
    let (record, job) = try #require(try await world.store.campaigns.findWithJob("a~2"))
    let part = try record.campaign(job, .any([APNsService()]))
    try await world.command("HSET", world.keys.campaign("a"), "stage", 0)
    try await world.command("HSET", world.keys.campaign("a~2"), "state", "waiting", "gated", 1)
    try await world.command("HDEL", world.keys.campaign("a~2"), "start", "expiration")
    for _ in 0..<2 { try await world.store.campaigns.restoreStage(of: part, job: job, start: second.start) }
    let again = try #require(try await world.store.campaigns.find("a~2"))
    expect(
      again.start == second.start && again.delivery.expiration == second.delivery.expiration && !again.staging.isGated)
    expect(try await world.store.campaigns.find("a")?.staging.current, is: 1)
  }

  /// Redis lost the beginning of two stages, and a worker knows only the later one. Both begin again.
  @Test(arguments: Backend.allCases)
  func stagesBeforeARestoredOneBeginWithIt(on backend: Backend) async throws {
    let world = try await TestStore(on: backend, partitions: 1)
    try await world.activate("a", Self.now)
    let (_, job) = try #require(try await world.store.campaigns.findWithJob("a"))
    let part = try CampaignJob.part(CampaignID("a~rest"), of: job, .any([APNsService()]), start: 5_000)
    try await world.store.campaigns.restoreStage(of: part, job: job, start: 5_000_000)
    expect(try await world.store.campaigns.find("a")?.staging.current, is: 2)
    for id in ["a~2", "a~rest"] {
      let part = try #require(try await world.store.campaigns.find(id))
      expect(!part.staging.isGated && part.state == .active && part.start == 5_000_000, "\(id)")
    }
  }

  /// Four users have two devices each, and one of the users opened the push.
  @Test(arguments: Backend.wholeWay)
  func shareOfOpensIsOneOfUsers(on backend: Backend) async throws {
    let world = try await TestStore(on: backend, partitions: 1)
    try await world.activate("a", #","stages":[{"share":0.1,"minOpened":0.25}]"#)
    try await world.command("HSET", world.keys.campaign("a~1"), "users", 4, "receipts", 1)
    try await world.command("SADD", world.keys.receipts(0, .opened, "a~1"), "u1")
    try await end("a~1", outcomes: [.accepted: 8], world)
    expect(try await look(world), is: [.opened(stage: "rest", winner: nil)])
  }

  @Test(arguments: Backend.wholeWay)
  func resumeOverridesOnlyThePresentVerdict(on backend: Backend) async throws {
    let world = try await TestStore(on: backend, partitions: 1)
    try await world.activate("a", #","stages":[{"share":0.1,"maxFailures":0},{"share":0.1,"maxFailures":0}]"#)
    // A pause and a resume before the verdict do not count as part of it.
    try await world.store.campaigns.control("a", .pause)
    try await world.store.campaigns.control("a", .resume)
    try await end("a~1", outcomes: [.accepted: 9, .rejected: 1], world)
    guard case .paused(let reason)? = try await look(world).first else {
      Issue.record("it is not paused")
      return
    }
    expect(reason.hasPrefix("stage 1: 1 of 10 pushes failed, more than 0 %"))
    expect(try await states("a", world), is: [.paused, .completed, .paused, .paused])
    expect(try await world.store.campaigns.find("a")?.staging.verdict, is: 0)
    expect(try await look(world).allSatisfy { $0 == .waits })
    try await world.store.campaigns.control("a", .resume)
    expect(try await states("a", world), is: [.active, .completed, .waiting, .waiting])
    expect(try await look(world), is: [.opened(stage: "2", winner: nil)])
    // The next gate is judged separately.
    try await end("a~2", outcomes: [.accepted: 9, .rejected: 1], world)
    guard case .paused? = try await look(world).first else {
      Issue.record("the second gate was overridden, too")
      return
    }
  }

  @Test(arguments: Backend.wholeWay)
  func gateAsksForApprovalByAnotherPerson(on backend: Backend) async throws {
    let world = try await TestStore(on: backend, partitions: 1)
    try await world.activate("a", #","stages":[{"users":["u1"],"approval":true}],"submittedBy":"ada""#)
    try await end("a~1", outcomes: [.accepted: 1], world)
    guard case .paused(let reason)? = try await look(world).first else {
      Issue.record("it is not paused")
      return
    }
    expect(reason.hasPrefix("stage 1: it needs approval; `carillon campaign approve a --by NAME`"))
    for (person, code) in [("ada", StoreError.Code.unapproved), ("", .unapproved)] {
      let error = await #expect(throws: StoreError.self) {
        _ =
          try await person.isEmpty
          ? world.store.campaigns.resume("a", unguarded: false, by: "bob").state
          : world.store.campaigns.approve("a", by: person)
      }
      expect(error?.code, is: code)
    }
    expect(try await world.store.campaigns.approve("a", by: "grace"), is: .active)
    expect(try await look(world), is: [.opened(stage: "rest", winner: nil)])
    expect(try await world.store.campaigns.find("a")?.approval.approvedBy, is: "grace")
  }

  @Test(arguments: Backend.wholeWay)
  func winnerIsChosenOnceForAllLaterStages(on backend: Backend) async throws {
    let world = try await TestStore(on: backend, partitions: 1)
    let variants = #","variants":[{"name":"x"},{"name":"y","apns":{"payload":{"n":1}}}],"stages":"#
    let job = #"[{"share":0.2,"winner":{"by":"accepted","minimum":1,"otherwise":"y"}},{"share":0.2}]"#
    try await world.activate("a", variants + job)
    // No outcome was counted.
    try await end("a~1", world)
    expect(try await look(world), is: [.opened(stage: "2", winner: "y")])
    expect(try await world.store.campaigns.decision(of: "a")?.winner, is: 1)
    expect(try await world.store.campaigns.find("a~2")?.staging.variant, is: 1)
    expect(try await world.store.campaigns.find("a~1")?.staging.variant, is: nil)
    let error = await #expect(throws: StoreError.self) {
      try await world.store.campaigns.decide("a", variant: "x", by: "ada")
    }
    expect(error?.code, is: .decided)
    try await end("a~2", world)
    expect(try await look(world), is: [.opened(stage: "rest", winner: nil)])
    expect(try await world.store.campaigns.find("a~rest")?.staging.variant, is: 1)
    // A person's decision takes precedence over the gate's.
    try await world.activate("b", variants + job)
    expect(try await world.store.campaigns.decide("b", variant: "x", by: "ada").decision.person, is: "ada")
    try await end("b~1", world)
    expect(try await look(world), is: [.opened(stage: "2", winner: "x")])
    expect(try await world.store.campaigns.find("b~2")?.staging.variant, is: 0)
  }

  @Test(arguments: Backend.wholeWay)
  func laterStageWaitsForItsLocalTime(on backend: Backend) async throws {
    let world = try await TestStore(on: backend, partitions: 1)
    let wall = WallTime.format(try await world.store.time() / 1_000_000)
    try await world.activate("a", #","localTime":true,"sendAt":"\#(wall)","stages":[{"share":0.5}]"#)
    try await end("a~1", world)
    expect(try await look(world), is: [.opened(stage: "rest", winner: nil)])
    let rest = try #require(try await world.store.campaigns.find("a~rest"))
    let begins = try #require(rest.times.sendAt)
    // This local time has passed somewhere, so the stage waits for the next day. The campaign stays active until then.
    expect(rest.state == .scheduled && begins > rest.start && begins - rest.start <= 86_400_000)
    expect(try await states("a", world), is: [.active, .completed, .scheduled])
    expect(try await world.command("ZSCORE", world.keys.schedule, "a~rest").string, is: "\(begins)")
    expect(try await problems(world), is: [])
  }

  // MARK: Ending

  @Test(arguments: Backend.wholeWay)
  func campaignEndsWithItsLastPartAndExpiresAsAWhole(on backend: Backend) async throws {
    let world = try await TestStore(on: backend, partitions: 2)
    try await world.activate("a", #","stages":[{"share":0.3}],"also":["widgets"]"#)
    try await end("a~1", outcomes: [.accepted: 3], world)
    _ = try await look(world)
    try await end("a~rest", outcomes: [.accepted: 6, .rejected: 1], world)
    // One companion has not ended.
    expect(try await world.store.campaigns.find("a")?.times.finishedAt, is: nil)
    for id in ["a", "a~1", "a~rest"] { expect(try await world.command("TTL", world.keys.campaign(id)).integer, is: -1) }
    expect(try await problems(world), is: [])
    try await end("a~1.widgets", outcomes: [.rejected: 5], world)
    try await end("a~rest.widgets", outcomes: [.rejected: 5], world)
    let record = try #require(try await world.store.campaigns.find("a"))
    // Companions are reported separately.
    expect(record.state == .completed && record.counters.outcomes == [.accepted: 9, .rejected: 1])
    expect(record.counters.targets == 10 && record.slices.finished == record.slices.total)
    for id in ["a"] + record.staging.partIDs {
      expect(try #require(try await world.command("TTL", world.keys.campaign(id)).integer) > 0, "\(id)")
    }
    expect(try await world.store.campaigns.isIdle())
    expect(try await world.command("ZCARD", world.keys.ended).integer, is: 0)
    expect(try await problems(world), is: [])
    let changes = try await world.store.results.changes(after: "0-0").changes.map(\.subject)
    expect(changes, is: [.campaign(id: "a", state: "active"), .campaign(id: "a", state: "completed")])
  }

  /// The worker that finished the last slice of a stage died before it recorded the end of the stage.
  @Test(arguments: Backend.wholeWay)
  func leaderHandlesAStageThatEndedUnnoticed(on backend: Backend) async throws {
    let world = try await TestStore(on: backend, partitions: 1)
    try await world.activate("a", Self.now)
    try await end("a~1", outcomes: [.accepted: 1], world)
    try await world.command("ZADD", world.keys.gates, 1 << 50, "a")
    try await world.command("ZADD", world.keys.ended, 1, "a~1")
    expect(try await look(world), is: [])
    expect(try await world.command("ZCARD", world.keys.ended).integer, is: 0)
    expect(try await look(world), is: [.opened(stage: "2", winner: nil)])
    // The same happens with the last part, which ends the campaign.
    try await end("a~2", outcomes: [.accepted: 1], world)
    _ = try await look(world)
    try await end("a~rest", outcomes: [.accepted: 1], world)
    try await world.command("HDEL", world.keys.campaign("a"), "finishedAt")
    try await world.command("HSET", world.keys.campaign("a"), "state", "active")
    try await world.command("ZADD", world.keys.ended, 1, "a~rest")
    _ = try await look(world)
    expect(try await states("a", world), is: [.completed, .completed, .completed, .completed])
  }

  @Test(arguments: Backend.wholeWay)
  func campaignHasFailedWhenNothingOfItWasAccepted(on backend: Backend) async throws {
    let world = try await TestStore(on: backend, partitions: 1)
    try await world.activate("a", #","stages":[{"share":0.3}]"#)
    try await end("a~1", outcomes: [.rejected: 3], world)
    _ = try await look(world)
    try await end("a~rest", outcomes: [.rejected: 3], world)
    expect(try await states("a", world), is: [.failed, .failed, .failed])
    expect(try await world.store.campaigns.find("a")?.reason?.hasPrefix("none of its 6 pushes was accepted"), is: true)
  }

  /// Isolating a damaged campaign also removes its parts. A damaged part ends as failed.
  @Test(arguments: Backend.wholeWay)
  func damagedCampaignOrPartIsIsolated(on backend: Backend) async throws {
    let world = try await TestStore(on: backend, partitions: 1)
    for id in ["a", "b", "a.b"] { try await world.activate(id, Self.stages) }
    try await world.command("DEL", world.keys.campaign("a"))
    try await world.command("SET", world.keys.campaign("a"), "nonsense")
    expect(try await world.store.repair.takeOut(campaign: "a", reason: "it is damaged", hint: ""))
    let left = try await world.command("ZRANGE", world.keys.all, 0, -1).compactMap(\.string)
    expect(left.allSatisfy { ["b", "a.b"].contains(CampaignID($0).whole) } && left.count == 10)
    expect(try await world.command("EXISTS", world.keys.campaign("a~1")).integer, is: 0)
    expect(try await world.store.repair.takeOut(campaign: "b~rest", reason: "it is damaged", hint: ""))
    for part in ["b~1", "b~1.widgets", "b~rest.widgets"] { try await end(part, outcomes: [.accepted: 1], world) }
    expect(try await world.store.campaigns.find("b")?.state, is: .failed)
  }

  // MARK: Control

  /// State of a campaign when it is controlled.
  enum Moment: String, CaseIterable, Sendable {
    /// The campaign is scheduled.
    case before
    /// The first stage is being sent.
    case during
    /// The first stage has ended, and the rest waits for its gate.
    case waiting
    /// The rest is being sent.
    case after
  }

  private static let jobs = [
    #","stages":[{"share":0.3,"wait":"1h"}]"#, #","also":["widgets"]"#, stages,
    #","stages":[{"users":["u1"],"approval":true},{"share":0.1}],"also":["widgets"]"#,
  ]

  private func bring(_ id: String, _ job: String, to moment: Moment, _ world: TestStore) async throws {
    let time = moment == .before ? 3_600_000 : -1000
    let sendAt = Timestamp.format(milliseconds: try await world.store.time() / 1000 + time)
    try await world.activate(id, job + #","sendAt":"\#(sendAt)","submittedBy":"ada""#)
    guard moment == .waiting || moment == .after else { return }
    let first = try #require(try await world.store.campaigns.find(id)?.staging.partIDs.first)
    try await end(first, outcomes: [.accepted: 1], world)
    guard moment == .after else { return }
    try await world.command("HINCRBY", world.keys.campaign(first), "finishedAt", -3_600_000)
    try await world.command("ZADD", world.keys.gates, 1, id)
    let finding = try await world.store.campaigns.checkGate(of: id, dueAt: 1)
    if case .paused = finding {
      expect(try await world.store.campaigns.approve(id, by: "bob"), is: .active)
      _ = try await world.store.campaigns.checkGate(of: id, dueAt: try #require(try await gate(id, world)))
    }
  }

  /// Pause, resume and cancel reach every part in any state. A resume returns each part to its state before the pause.
  @Test(arguments: Moment.allCases)
  func controlReachesEveryPart(moment: Moment) async throws {
    let world = try await TestStore(on: .single, partitions: 1)
    for (number, job) in Self.jobs.enumerated() {
      let id = "c\(number)"
      // A campaign with only a companion has no gate.
      guard moment != .after || job.contains("stages") else { continue }
      try await bring(id, job, to: moment, world)
      let were = try await states(id, world)
      let paused = were.map { $0.isFinal ? $0 : .paused }
      expect(try await world.store.campaigns.control(id, .pause, reason: "looks wrong"), is: .paused)
      expect(try await states(id, world), is: paused, "\(moment) \(job)")
      expect(try await world.command("LLEN", world.keys.lane("normal")).integer, is: 0)
      expect(try await world.command("ZCARD", world.keys.schedule).integer, is: 0)
      expect(try await problems(world), is: [], "\(moment) \(job)")
      // The id of a part stands for the whole campaign.
      expect(try await world.store.campaigns.control(id + "~rest", .resume), is: were[0])
      expect(try await states(id, world), is: were, "\(moment) \(job)")
      expect(try await problems(world), is: [], "\(moment) \(job)")
      try await world.store.campaigns.control(id, .pause)
      expect(try await world.store.campaigns.control(id, .cancel), is: .cancelled)
      expect(try await states(id, world), is: were.map { $0.isFinal ? $0 : .cancelled }, "\(moment) \(job)")
      let record = try #require(try await world.store.campaigns.find(id))
      // Workers close the parts that have begun. All other parts end with the campaign.
      let begun = zip(record.parts, were.dropFirst()).filter { $1 == .active }.map(\.0.id)
      for part in record.parts {
        expect(part.times.finishedAt == nil, is: begun.contains(part.id), "\(moment) \(part.id)")
      }
      for part in begun { try await end(part, world) }
      expect(try await world.store.campaigns.find(id)?.times.finishedAt != nil, "\(moment) \(job)")
      expect(try await world.store.campaigns.control(id, .resume), is: .cancelled)
      expect(try await problems(world), is: [], "\(moment) \(job)")
    }
    expect(try await world.store.campaigns.isIdle())
  }

  /// Approval is required and given once for the whole campaign.
  @Test(arguments: Backend.wholeWay)
  func approvalAppliesToTheWholeCampaign(on backend: Backend) async throws {
    let world = try await TestStore(on: backend, partitions: 1)
    let job = TestStore.job("a", audience: #"{"segment":"*"}"#, Self.stages + #","submittedBy":"ada""#)
    let campaign = try CampaignJob.parse(job, .any([APNsService()]))
    try await world.storeSubmitter(of: job, campaign)
    expect(
      try await world.store.queue.activate(campaign, job: job, worker: "w", narrowed: true, approval: "it is large"),
      is: .new)
    expect(try await states("a", world), is: Array(repeating: .paused, count: 5))
    expect(try await world.store.campaigns.control("a", .resume), is: .paused)
    expect(try await world.store.campaigns.control("a~1.widgets", .resume), is: .paused)
    await #expect(throws: StoreError.self) { try await world.store.campaigns.approve("a~1", by: "ada") }
    expect(try await world.store.campaigns.approve("a", by: "grace"), is: .active)
    expect(try await states("a", world), is: [.active, .active, .active, .waiting, .waiting])
  }

  /// All parts have the same generation. A worker's finding about one part from before a resume changes nothing.
  @Test(arguments: Backend.wholeWay)
  func roundsOfPartsAreTheSame(on backend: Backend) async throws {
    let world = try await TestStore(on: backend, partitions: 1)
    try await world.activate("a", Self.stages)
    try await end("a~1", world)
    for _ in 0..<2 {
      try await world.store.campaigns.control("a", .pause)
      try await world.store.campaigns.control("a", .resume)
    }
    let record = try #require(try await world.store.campaigns.find("a"))
    expect(record.resumes.round == 2 && record.parts.map(\.resumes.round) == [2, 2, 2, 2])
    expect(try await world.store.campaigns.control("a~rest", .pause, reason: "late", round: 1), is: .active)
    expect(try await world.store.campaigns.control("a~rest", .pause, reason: "now", round: 2), is: .paused)
    expect(try await states("a", world), is: [.paused, .completed, .paused, .paused, .paused])
  }

  // MARK: Repartition

  @Test(arguments: Backend.wholeWay)
  func repartitionKeepsParts(on backend: Backend) async throws {
    let world = try await TestStore(on: backend, partitions: 2)
    let time = try await world.store.time() / 1000 + 3_600_000
    let users = (0..<20).map { "\"u\($0)\"" }.joined(separator: ",")
    try await world.activate(
      "a", audience: "{\"users\":[\(users)]}",
      #","stages":[{"share":0.5}],"sendAt":"\#(Timestamp.format(milliseconds: time))""#)
    let spread = try await world.store.repartition.lock(for: 4)
    expect(try await world.store.repartition.change(to: 4, spread: spread).campaigns, is: 3)
    let keys = try #require(Keyspace(namespace: world.keys.namespace, partitions: 4))
    let store = CampaignStore(redis: world.store.redis, keys: keys, services: TestStore.services)
    let record = try #require(try await store.campaigns.find("a"))
    expect(record.placement.partitions == 4 && record.parts.map(\.placement.partitions) == [4, 4])
    expect(try await world.command("LLEN", keys.open("a~1")).integer, is: record.parts[0].slices.total)
    expect(try await world.command("LLEN", keys.open("a~rest")).integer, is: 0)
  }
}
