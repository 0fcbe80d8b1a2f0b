@testable import CampaignStore
import APNs
import Foundation
import PushCore
import Redis
import Synchronization
import TestKit
import TestSupport
import Testing

/// Campaigns with parts under random schedules of calls. After each call the state in Redis must equal that of
/// ``PartModel``.
///
/// Several callers make the calls. Some calls are repeated, as after a lost reply. Some come late, with an earlier
/// state. Some callers die between two steps, and Redis loses its last writes. `Tests/LedgerModel/README.md` lists the
/// mutants of scripts that this test finds.
@Suite(.takesTurns) struct PartModelTests {
  private static let steps = 60
  private static let schedules = TestForm.count(short: 12, long: 40)

  /// One call of the store, with the state that its caller had read.
  private enum Call {
    /// - Parameter id: the id of the campaign or of a part.
    case person(ControlVerb, id: String, by: String)
    case dyingPerson(ControlVerb)
    case worker(round: Int, gate: Int?, needsApproval: Bool)
    case finish(part: Int, partition: Int, accepted: Int, refused: Int, dies: Bool)
    case end(part: Int)
    case checkTimes(dueAt: Int)
    case open(stage: Int)
    /// A worker that has sent pushes of a stage restores the stage's beginning.
    case restore(stage: Int)
    case activate, promote, repair, hourPasses, loseGate, redisFalls
  }

  /// State in Redis after a call.
  private struct ObservedState {
    var facts: [String: String] = [:]
    var state: CampaignState?
    var finishedAt: String?
    var gateDueAt: Int?
    var parts: [(state: CampaignState?, finishedAt: String?, isGated: Bool, start: String?)] = []
  }

  private struct CallerCrash: Error {}

  /// A campaign and its model.
  private struct Run {
    static let id = "a"
    let world: TestStore
    let campaign: Campaign
    let job: [UInt8]
    let approval: String?
    let ids: [String]
    let partitions: [Int]
    /// Whether pushes of the stages, and of the companions, may be accepted. If none is, the campaign can fail.
    let accepts: (stages: Bool, companions: Bool)
    var model: PartModel
    var sight = ObservedState()
    /// Calls that were made, and calls that a worker was about to make.
    var calls: [Call] = []
    /// The state to which Redis falls back, with the model of that time.
    private var snapshot: (values: [(key: String, value: [UInt8])], model: PartModel)?
    private var hasFallen = false
    /// The start times of the stages whose pushes workers have sent, by place.
    private var starts: [Int: Int] = [:]

    init(on backend: Backend, _ seed: inout Seed) async throws {
      world = try await TestStore(on: backend, partitions: 2)
      let plan = PartModel.Job(using: &seed)
      let sendAt = try await world.store.time() / 1000 + 3_600_000
      let users = (0..<10).map { "\"u\($0)\"" }.joined(separator: ",")
      job = TestStore.job(Self.id, audience: "{\"users\":[\(users)]}", plan.members(sendAt: sendAt))
      campaign = try CampaignJob.parse(job, .any([APNsService()]))
      approval = plan.needsApproval ? "it is large" : nil
      ids = campaign.parts.map { CampaignID(whole: Self.id, part: $0).description }
      partitions = world.store.queue.listedPartitions(of: campaign)
      accepts = (Int.random(in: 0..<4, using: &seed) > 0, Int.random(in: 0..<4, using: &seed) > 0)
      model = PartModel(plan, partitions: partitions)
      try await world.storeSubmitter(of: job, campaign)
      let answer = try await world.store.queue.activate(
        campaign, job: job, worker: "w", narrowed: true, approval: approval)
      expect(answer == .new && partitions.count == 2)
      sight = try await checkTimes()
    }

    // MARK: Calls

    /// Makes a call and applies it to the model.
    ///
    /// - Returns: the difference between the answer and the model's; `nil` if there is none.
    mutating func make(_ call: Call) async throws -> String? {
      let store = world.store
      switch call {
      case .person(let verb, let id, let person):
        let answer = try await store.campaigns.controlEverywhere(id, verb, by: person, lease: 1000).state
        model.control(verb, by: person)
        return answer == model.state ? nil : "\(verb) answered \(answer)"
      case .dyingPerson(let verb):
        // The caller reads the campaign and its parts, and then runs `control.lua`.
        try await dying(after: 3) { _ = try await store.campaigns.controlEverywhere(Self.id, verb, lease: 1000) }
        model.control(verb, by: "", dies: true)
      case .worker(let round, let gate, let needsApproval):
        let answer = try await store.campaigns.control(
          Self.id, .pause, reason: "it looks bad", round: round, gate: gate, needsApproval: needsApproval)
        model.control(.pause, by: nil, round: round, gate: gate, needsApproval: needsApproval)
        return answer == model.state ? nil : "a worker's pause answered \(answer)"
      case .finish(let part, let partition, let accepted, let refused, let dies):
        let counters = [("\(Outcome.accepted.rawValue)", accepted), ("\(Outcome.rejected.rawValue)", refused)]
        let slice = SliceReference(campaign: ids[part], partition: partition)
        try await dying(after: dies ? 1 : .max) {
          _ = try await store.slices.finish(slice, adding: counters, lane: .normal, worker: "w")
        }
        model.finish(part, partition, accepted: accepted, refused: refused, dies: dies)
      case .end(let part):
        try await store.campaigns.end(ids[part])
        model.endPart(part)
      case .checkTimes(let dueAt):
        let finding = try await store.campaigns.checkGate(of: Self.id, dueAt: dueAt)
        let verdict = model.look(isCurrent: dueAt == sight.gateDueAt)
        let isSame =
          switch (finding, verdict) {
          case (.opened, .open?), (.paused, .pause?), (.waits, nil): true
          default: false
          }
        return isSame ? nil : "the look found \(finding), not \(String(describing: verdict))"
      case .open(let stage):
        let now = try await store.time() / 1000
        let answer = try await store.campaigns.openGate(behind: stage - 1, of: campaign, job, start: now, winner: nil)
        return answer == model.open(stage) ? nil : "opengate answered \(answer)"
      case .activate:
        // The worker reserved the id before another one activated the campaign.
        let answer = try await store.queue.write(
          campaign, job: job, digest: String(repeating: "0", count: 40), partitions: partitions, start: 1, worker: "x",
          narrowed: true, approval: approval)
        return answer == .duplicate ? nil : "activate answered \(answer)"
      case .restore(let stage):
        guard let start = starts[stage], let place = model.parts.firstIndex(where: { $0.place == stage }) else { break }
        let part = try CampaignJob.part(
          CampaignID(ids[place]), of: job, .any([APNsService()]), start: start / 1000, variant: nil)
        let isLost = model.parts[place].isGated && (model.state == .active || model.state == .paused)
        try await store.campaigns.restoreStage(of: part, job: job, start: start)
        model.restore(stage)
        let began = try await world.command("HGET", world.keys.campaign(ids[place]), "start").integer
        return isLost && began != start ? "the stage began at \(began ?? 0), not at \(start)" : nil
      case .redisFalls:
        guard let snapshot else { break }
        try await bringBack(snapshot.values)
        model = snapshot.model
        hasFallen = true
        sight = try await checkTimes()
      case .promote:
        let begun = try await store.queue.promote(ids)
        return names(begun) == model.promote() ? nil : "promote began \(begun)"
      case .repair:
        let begun = try await store.queue.repairSchedule(from: 0).begun
        return names(begun) == model.repair() ? nil : "the repair began \(begun)"
      case .hourPasses: try await letHourPass()
      case .loseGate:
        try await world.command("ZREM", world.keys.gates, Self.id)
        model.loseGate()
      }
      return nil
    }

    /// Runs a call whose caller dies after it has sent this number of pipelines.
    private func dying(after pipelines: Int, _ body: () async throws -> Void) async throws {
      let count = Mutex(0)
      let step: @Sendable () throws -> Void = {
        let isLast = count.withLock { count in
          count += 1
          return count > pipelines
        }
        if isLast { throw CallerCrash() }
      }
      do { try await StoreSteps.$beforeEach.withValue(step, operation: body) } catch is CallerCrash {}
    }

    // MARK: Lost writes

    /// Records a state to which Redis may fall back.
    mutating func remember() async throws {
      var values: [(String, [UInt8])] = []
      for key in try await keysThere() {
        if let value = try await world.command("DUMP", key).bytes { values.append((key, Array(value))) }
      }
      snapshot = (values, model)
    }

    private func bringBack(_ values: [(key: String, value: [UInt8])]) async throws {
      for key in try await keysThere() { try await world.command("DEL", key) }
      for (key, value) in values { try await world.command("RESTORE", key, 0, value) }
    }

    private func keysThere() async throws -> [String] {
      try await world.command("KEYS", "*\(world.keys.namespace)*").compactMap(\.string)
    }

    /// The last stage that has begun according to workers, but not according to Redis.
    var lost: Int? {
      guard model.state == .active || model.state == .paused else { return nil }
      return starts.keys.max().flatMap { $0 > model.stage ? $0 : nil }
    }

    private mutating func letHourPass() async throws {
      // Redis falls back by a few seconds only.
      snapshot = nil
      let keys = world.keys
      var pipeline = RedisPipeline()
      for (part, id) in zip(model.parts, ids) {
        if part.hasEnded { pipeline.append("HINCRBY", keys.campaign(id), "finishedAt", -3_600_000) }
        if model.job.isScheduled, part.place == 0 { pipeline.append("HSET", keys.campaign(id), "sendAt", 1) }
        pipeline.append("ZADD", keys.schedule, "XX", 1, id)
      }
      if model.job.isScheduled { pipeline.append("HSET", keys.campaign(Self.id), "sendAt", 1) }
      pipeline.append("ZADD", keys.gates, "XX", 1, Self.id)
      _ = try await world.store.run(pipeline)
      model.letHourPass()
    }

    // MARK: State in Redis

    /// The names of the parts with these ids, and `campaign`.
    private func names(_ ids: [String]) -> Set<String> { Set(ids.map(name)) }

    private func name(_ id: String) -> String {
      id == Self.id ? "campaign" : CampaignID(id).part?.description ?? id
    }

    func checkTimes() async throws -> ObservedState {
      let keys = world.keys
      var pipeline = RedisPipeline()
      pipeline.append(
        "HMGET", keys.campaign(Self.id), "state", "finishedAt", "round", "stage", "verdict", "overridden", "approval",
        "approvedBy", "pausedItself")
      pipeline.append("GET", keys.epoch)
      pipeline.append("ZSCORE", keys.gates, Self.id)
      pipeline.append("LRANGE", keys.lane("normal"), 0, -1)
      pipeline.append("SMEMBERS", keys.running)
      pipeline.append("ZRANGE", keys.schedule, 0, -1)
      pipeline.append("ZRANGE", keys.ended, 0, -1)
      for id in ids {
        pipeline.append("HMGET", keys.campaign(id), "state", "finishedAt", "gated", "round", "start")
        pipeline.append("LRANGE", keys.open(id), 0, -1)
      }
      let replies = try await world.store.run(pipeline)
      func list(_ names: [String]) -> String { names.sorted().joined(separator: " ") }
      var sight = ObservedState()
      let whole = replies[0].map(\.string)
      sight.state = whole[0].flatMap(CampaignState.init(rawValue:))
      sight.finishedAt = whole[1]
      sight.gateDueAt = replies[2].string.flatMap { Int($0) }
      let now = Int(Date().timeIntervalSince1970 * 1000)
      let look = sight.gateDueAt.map { $0 <= now ? PartModel.Check.now : .later }
      sight.facts = [
        "state": whole[0] ?? "-", "end": "\(whole[1] != nil)", "round": whole[2] ?? "0",
        "epoch": replies[1].string ?? "0", "stage": whole[3] ?? "-", "verdict": whole[4] ?? "-",
        "overridden": whole[5] ?? "-", "approval": "\(whole[6] ?? "-") \(whole[7] ?? "-")",
        "paused by worker": "\(whole[8] == "1")", "gate": look?.rawValue ?? "-",
      ]
      for (fact, reply) in zip(["lane", "running", "schedule", "unhandled ends"], replies[3...]) {
        sight.facts[fact] = list(reply.compactMap(\.string).map(name))
      }
      for (place, id) in ids.enumerated() {
        let part = replies[7 + 2 * place].map(\.string)
        let open = list(replies[8 + 2 * place].compactMap(\.string))
        sight.parts.append((part[0].flatMap(CampaignState.init(rawValue:)), part[1], part[2] != nil, part[4]))
        sight.facts[name(id)] =
          "\(part[0] ?? "-") end \(part[1] != nil) gated \(part[2] != nil) round \(part[3] ?? "0") open \(open)"
      }
      return sight
    }

    /// Returns violations of rules that hold after every call, independent of the model.
    func broken(_ now: ObservedState, after was: ObservedState) -> [String] {
      var broken: [String] = []
      func require(_ isRight: Bool, _ text: String) { if !isRight { broken.append(text) } }
      if let end = was.finishedAt { require(now.finishedAt == end, "the campaign has ended twice") }
      if now.finishedAt != nil {
        require(now.parts.allSatisfy { $0.finishedAt != nil }, "the campaign has ended before its parts")
      }
      let live = now.parts.filter { $0.finishedAt == nil }
      let paused = live.count { $0.state == .paused }
      require(paused == (now.state == .paused ? live.count : 0), "\(paused) of \(live.count) parts are paused")
      if now.state == .cancelled {
        require(now.parts.allSatisfy { $0.state?.isFinal == true }, "a part goes on after the cancel")
      }
      for (part, (new, old)) in zip(model.parts, zip(now.parts, was.parts)) where part.place > 0 {
        if old.start != nil { require(new.start == old.start, "\(part.name) has begun twice") }
        guard old.isGated, !new.isGated else { continue }
        // A stage that had begun before Redis fell back begins again, whatever else Redis has lost.
        if hasFallen { continue }
        let before = zip(model.parts, was.parts).filter { $0.0.place == part.place - 1 && $0.0.isStage }
        require(before.allSatisfy { $1.finishedAt != nil }, "\(part.name) has begun before the stage before it ended")
        require(was.state == .active, "\(part.name) has begun in a campaign that was not active")
      }
      return broken
    }

    /// Makes a call and compares the states.
    ///
    /// - Returns: the differences.
    mutating func step(_ call: Call) async throws -> [String] {
      calls.append(call)
      var wrong = [try await make(call)].compactMap(\.self)
      let now = try await checkTimes()
      let facts = model.facts
      for name in Set(facts.keys).union(now.facts.keys).sorted() where facts[name] != now.facts[name] {
        wrong.append("\(name) is “\(now.facts[name] ?? "")”, not “\(facts[name] ?? "")”")
      }
      wrong += broken(now, after: sight)
      sight = now
      for (part, seen) in zip(model.parts, now.parts) where part.place > 0 && !seen.isGated {
        starts[part.place] = seen.start.flatMap { Int($0) }
      }
      return wrong
    }

    // MARK: Choice of calls

    /// Returns the next call of a worker or person, or repeats an earlier call.
    mutating func choose(_ seed: inout Seed) -> Call? {
      if let lost, Bool.random(using: &seed) { return .restore(stage: lost) }
      // A fall may undo the beginning of a stage that has just begun.
      if let snapshot, snapshot.model.stage < model.stage, Int.random(in: 0..<4, using: &seed) == 0 {
        return .redisFalls
      }
      guard let call = chooseAny(&seed) else { return nil }
      // No worker has a slice of a part that has not begun. After a fall, no worker has a slice of a part that has
      // ended either.
      if case .finish(let part, _, _, _, _) = call {
        if model.parts[part].isGated || hasFallen && model.parts[part].hasEnded { return nil }
      }
      if case .end(let part) = call, model.parts[part].isGated { return nil }
      return call
    }

    private mutating func chooseAny(_ seed: inout Seed) -> Call? {
      recordLateCalls()
      switch Int.random(in: 0..<62, using: &seed) {
      case 60: return snapshot == nil ? nil : .redisFalls
      case 61: return starts.keys.randomElement(using: &seed).map { .restore(stage: $0) }
      case 0..<22: return finishing(&seed)
      case 22..<30: return .checkTimes(dueAt: sight.gateDueAt ?? 1)
      case 30..<38:
        let verbs: [ControlVerb] = [.pause, .resume, .resume, .approve, .approve]
        return .person(
          verbs.randomElement(using: &seed) ?? .pause, id: ([Run.id] + ids).randomElement(using: &seed) ?? Run.id,
          by: ["", "ada", "bob"].randomElement(using: &seed) ?? "")
      case 38..<40: return .worker(round: max(0, model.round - 1), gate: nil, needsApproval: false)
      case 40: return .worker(round: model.round, gate: nil, needsApproval: Bool.random(using: &seed))
      case 41: return Bool.random(using: &seed) ? .person(.cancel, id: Run.id, by: "bob") : .dyingPerson(.cancel)
      case 42..<44:
        return model.parts.indices.filter { model.parts[$0].hasEnded }.randomElement(using: &seed).map {
          .end(part: $0)
        }
      case 44..<46: return .hourPasses
      case 46..<48: return .promote
      case 48: return .repair
      case 49: return .activate
      case 50: return .loseGate
      case 51: return .dyingPerson(.pause)
      default: return calls.randomElement(using: &seed)
      }
    }

    /// Adds the call of a worker that has checked the gate now and is suspended before it acts.
    private mutating func recordLateCalls() {
      guard model.state == .active else { return }
      switch model.gateVerdict {
      case .open?: calls.append(.open(stage: model.stage + 1))
      case .pause(let needsApproval)?:
        calls.append(.worker(round: model.round, gate: model.stage, needsApproval: needsApproval))
      default: break
      }
    }

    private func finishing(_ seed: inout Seed) -> Call? {
      let open = model.parts.indices.filter { model.parts[$0].hasBegun && !model.parts[$0].hasEnded }
      guard let part = open.randomElement(using: &seed) else { return nil }
      let left = partitions.filter { !model.parts[part].counted.contains($0) }
      let isAccepted = model.parts[part].isStage ? accepts.stages : accepts.companions
      return left.randomElement(using: &seed).map {
        .finish(
          part: part, partition: $0, accepted: isAccepted ? Int.random(in: 0...2, using: &seed) : 0,
          refused: max(0, Int.random(in: -2...1, using: &seed)), dies: Int.random(in: 0..<4, using: &seed) == 0)
      }
    }

    /// Returns the call that leads the campaign to its end without a cancel.
    func ending(_ seed: inout Seed) -> Call {
      if let name = model.unhandled.sorted().first {
        return .end(part: model.parts.firstIndex { $0.name == name } ?? 0)
      }
      if model.state == .paused {
        return .person(model.facts["approval"]?.hasPrefix("needed") == true ? .approve : .resume, id: Run.id, by: "bob")
      }
      if let lost { return .restore(stage: lost) }
      if let call = finishing(&seed) { return call }
      if model.state == .scheduled || model.parts.contains(where: { $0.state == .scheduled }) {
        return calls.last.map { if case .hourPasses = $0 { true } else { false } } == true ? .promote : .hourPasses
      }
      if model.gateVerdict == .wait { return .hourPasses }
      return .checkTimes(dueAt: sight.gateDueAt ?? 1)
    }
  }

  @Test(arguments: Backend.allCases, 0..<6)
  func partsEqualTheModel(on backend: Backend, group: Int) async throws {
    var seed = Seed("partsEqualTheModel \(backend) \(group)")
    for schedule in 0..<Self.schedules {
      var run = try await Run(on: backend, &seed)
      var wrong: [String] = []
      var stepsAfterEnd = 5
      for _ in 0..<Self.steps where wrong.isEmpty && stepsAfterEnd > 0 {
        if run.model.hasEnded { stepsAfterEnd -= 1 }
        // The keys of several nodes can't be restored in one step.
        if backend != .nodes, Int.random(in: 0..<6, using: &seed) == 0 { try await run.remember() }
        if let call = run.choose(&seed) { wrong = try await run.step(call) }
      }
      for _ in 0..<100 where wrong.isEmpty && !(run.model.hasEnded && run.model.unhandled.isEmpty) {
        wrong = try await run.step(run.ending(&seed))
      }
      if wrong.isEmpty {
        if !run.model.hasEnded { wrong.append("the campaign comes to no end") }
        let observed = try await run.world.store.results.changes(after: "0-0").changes.map(\.subject)
        let changes = run.model.changes.prefix(observed.count == 50 ? 50 : .max)
        if observed != changes.map({ .campaign(id: Run.id, state: $0.rawValue) }) {
          wrong.append("webhooks hear \(observed), not \(run.model.changes.map(\.rawValue))")
        }
      }
      if !wrong.isEmpty {
        let calls = run.calls.map { "\($0)" }.joined(separator: "\n")
        Issue.record("schedule \(schedule): \(wrong.joined(separator: "; "))\n\(run.model.job)\n\(calls)")
        return
      }
    }
  }
}
