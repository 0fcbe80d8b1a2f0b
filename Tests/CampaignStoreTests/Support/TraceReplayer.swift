@testable import CampaignStore
import LedgerModel
import PushCore
import Redis
import TestSupport

/// Replay of the model's operations on a real store.
struct TraceReplayer {
  static let id = "c"
  private static let hour = 3_600_000

  let test: TestStore
  let rules: Rules
  let slices: Int
  /// The number of targets of each slice.
  let targets: Int
  var model: StoreState
  private var ledgers: [Int: SliceLedger] = [:]
  /// Whether the last call of the store did more than that of the model. Both are then compared after the next call.
  private var isBetween = false

  init(_ trace: StoreTrace, on backend: Backend) async throws {
    test = try await TestStore(on: backend, partitions: trace.slices)
    rules = trace.rules
    slices = trace.slices
    targets = trace.targets
    model = StoreState(slices: trace.slices)
    for slice in 0..<slices { try await loadUsers(of: slice) }
  }

  static func worker(_ name: Int) -> String { "w\(name)" }

  static func target(_ slice: Int, _ number: UInt8) -> [UInt8] {
    var entry: [UInt8] = []
    token(slice, number).withUnsafeBytes { token in
      Array(user(slice, number).utf8).withUnsafeBytes { TargetPage.write(token: token, user: $0, to: &entry) }
    }
    return entry
  }

  static func token(_ slice: Int, _ number: UInt8) -> [UInt8] { [UInt8(slice), number] }

  static func user(_ slice: Int, _ number: UInt8) -> String { "u\(slice).\(number)" }

  /// Returns the real claim for a claim of the model.
  mutating func ledger(_ claim: Int, _ slice: Int) -> SliceLedger {
    if let known = ledgers[claim] { return known }
    let new = SliceLedger(store: test.store, slice: reference(slice), lease: Self.hour, app: "news")
    ledgers[claim] = new
    return new
  }

  private func reference(_ slice: Int) -> SliceReference { SliceReference(campaign: Self.id, partition: slice) }

  mutating func perform(_ operation: StoreOperation) async throws {
    isBetween = false
    switch operation.step {
    case .failover(let state):
      model = state
      try await load(now: operation.now)
    case .call(let call):
      try await passTime(call.slice, operation.now)
      let before = model
      let reply = model.apply(call, now: operation.now, rules: rules)
      try await perform(call, reply, before)
    }
  }

  /// Ends leases and waits of the real store that have ended by the model's clock.
  private func passTime(_ number: Int, _ now: Int) async throws {
    let slice = model.slices[number]
    if slice.claim != 0, slice.lease <= now { try await test.endLease(Self.id, number) }
    for index in slice.retry where slice.due[index] <= now {
      try await test.command("ZADD", test.keys.retry(number, Self.id), Int(slice.due[index]), index)
    }
  }

  private mutating func perform(_ call: StoreCall, _ reply: StoreReply, _ before: StoreState) async throws {
    let (store, slice, worker) = (test.store, reference(call.slice), Self.worker(call.name))
    switch call.kind {
    case .activate:
      if before.control.state == .absent { try await test.activate(Self.id) }
    case .dequeue:
      let dequeued = try await store.slices.dequeueSlice(worker: worker)
      try check(
        dequeued?.partition == (reply.result == .done ? reply.slice : nil), "took \(dequeued.map { "\($0)" } ?? "-")")
    case .claim:
      let answer = try await ledger(call.claim, call.slice).claim(worker: worker)
      switch answer {
      case .claimed(let progress):
        try check(reply.result == .done, "claimed")
        try check(progress.granted == reply.granted && progress.inDoubt == reply.doubt, "\(progress)")
        try check(progress.departures == reply.departures, "\(progress)")
      case .held: try check(reply.result == .held, "held")
      case .finished: try check(reply.result == .finished, "finished")
      }
    case .append:
      // There is nothing to add, because all users have departed.
      guard call.count > 0 else { break }
      var pipeline = RedisPipeline()
      let page = (0..<call.count).flatMap { Self.target(call.slice, call.order[$0]) }
      ledger(call.claim, call.slice).append(SealedTargets(pages: [page]), to: &pipeline)
      let length = try await store.run(pipeline).last?.integer
      let isOwner = before.slices[call.slice].claim == call.claim && before.slices[call.slice].phase == .expanding
      // Each call adds a page after the first, empty one.
      try check(!isOwner || length == model.slices[call.slice].built / call.count + 1, "append: \(length ?? 0)")
    case .seal:
      var pipeline = RedisPipeline()
      ledger(call.claim, call.slice).seal(
        SliceSeal(
          count: call.count, pages: min(call.count, 1), departures: call.departures < 0 ? nil : call.departures),
        to: &pipeline)
      let sealed = try await store.run(pipeline)[0].integer
      try check((sealed == 1) == (reply.result == .done), "seal: \(sealed ?? 0)")
    case .commit, .replay: try await commit(call, reply)
    case .regrant:
      let seal = call.seal == 0 ? [] : ledger(call.seal, call.slice).claim
      let decisions = try await ledger(call.claim, call.slice).regrant(targets(of: call), seal: seal)
      try check((decisions != nil) == (reply.result == .done), "regrant: \(decisions.map { "\($0)" } ?? "-")")
      try compare(zip(call.indexes, decisions ?? []).map { ($0, $1) }, reply)
    case .depart: try await depart(call)
    case .unclaim: try await ledger(call.claim, call.slice).unclaim()
    case .close:
      let answer = try await ledger(call.claim, call.slice).close(call.cancels ? .cancel : .finish)
      try check((answer.counters != nil) == (reply.result == .done), "close: \(answer)")
    case .finish:
      _ = try await store.slices.finish(slice, counters: counters(call.tally), lane: .normal, worker: worker)
    case .park:
      let parked = try await store.slices.park(slice, for: Self.hour, worker: worker)
      try check(parked == (reply.result == .done), "park: \(parked)")
    case .postpone: try await store.slices.postpone(slice, for: Self.hour, worker: worker)
    case .requeue: try await store.slices.requeue(slice, lane: .normal, worker: worker)
    case .dismiss: try await store.slices.dismiss(slice, worker: worker)
    case .heartbeat: _ = try await store.fleet.heartbeat(worker: worker, timeout: Self.hour)
    case .removeWorker: try await store.fleet.removeWorker(worker)
    case .reopen: _ = try await store.slices.reopenLost()
    case .control:
      guard before.control.state != .absent else { return }
      let verb: ControlVerb = call.verb == .pause ? .pause : call.verb == .resume ? .resume : .cancel
      try await store.campaigns.control(Self.id, verb)
      // The store opens the parked slices in the same call.
      isBetween = call.verb == .cancel
    case .look, .read, .inspect, .unpark: break
    }
  }

  private mutating func commit(_ call: StoreCall, _ reply: StoreReply) async throws {
    var batch = OutcomeBatch()
    for index in call.grants.indexes {
      let history = AttemptHistory(isAmbiguous: call.grants.ambiguous.contains(index))
      batch.append(LedgerRecord(state: .granted, attempt: call.grants.attempt[index], history: history), at: index)
    }
    for index in call.records.indexes {
      let history = AttemptHistory(isAmbiguous: call.records.ambiguous.contains(index))
      var record = LedgerRecord(state: .waiting, attempt: call.records.attempt[index], history: history)
      if let outcome = Outcome(rawValue: call.records.state[index]) {
        record.state = .terminal(outcome)
      } else if call.records.delay[index] > 0 {
        record.at = UInt64(Self.hour)
      }
      batch.append(record, at: index)
    }
    let seal = call.seal == 0 ? [] : ledger(call.seal, call.slice).claim
    let expected: CommitRequest.ExpectedState =
      call.kind == .replay
      ? .replay(granted: call.highWater)
      : .acknowledged(SliceVersion(sequence: call.seq, replays: call.replays))
    var request = CommitRequest(
      seal: seal, expected: expected, credit: call.credit, resent: call.resent,
      departures: call.departures == -2 ? nil : call.departures)
    request.suspects = targets(of: call)
    let answer = try await ledger(call.claim, call.slice).commit(&batch, request)
    guard reply.result == .done else { return try check(!answer.isSealed, "commit: \(answer)") }
    try check(answer.isOwner == reply.isOwner && answer.granted == reply.granted, "commit: \(answer)")
    let retries = answer.retries.map(\.index).sorted()
    let granted = Array(reply.records.indexes)
    try check(answer.firstDecisions.isEmpty && answer.retryDecisions.isEmpty, "commit: \(answer)")
    try compare(answer.withheld, reply)
    try compare(answer.departures, reply, of: call.slice)
    try check(retries == granted, "retries \(retries), expected \(granted), after \(call), answered \(answer)")
  }

  /// Returns the targets that a call has checked.
  private func targets(of call: StoreCall) -> [SealedTarget] {
    call.indexes.map { index in
      let number = model.slices[call.slice].order[index]
      return SealedTarget(
        index: index, token: Self.token(call.slice, number)[...], user: Array(Self.user(call.slice, number).utf8)[...])
    }
  }

  /// Compares the departures since the worker's last commit.
  private func compare(_ news: NewDepartures?, _ reply: StoreReply, of slice: Int) throws {
    let users = reply.isAnybody ? nil : Set(reply.news.map { Self.fingerprint(slice, UInt8($0)) })
    try check(
      news?.number ?? -1 == reply.departures && (news == nil || news?.users.map(Set.init) == users),
      "departures \(news.map { "\($0)" } ?? "-"), expected \(reply.departures) \(Array(reply.news))")
  }

  static func fingerprint(_ slice: Int, _ target: UInt8) -> UInt32 { UserFingerprint.of(user(slice, target).utf8) }

  /// Compares the withheld targets with the users who have lost their device.
  private func compare(_ decisions: [(index: Int, decision: GrantDecision)], _ reply: StoreReply) throws {
    let withheld = decisions.filter { $0.decision != .send }
    let expected = Array(reply.withheld)
    try check(
      withheld.map(\.index).sorted() == expected && withheld.allSatisfy { $0.decision.withheld == .deviceGone },
      "withheld \(withheld), expected \(expected)")
  }

  /// Removes a user's device with the script itself, because the user's name may belong to another partition.
  private func depart(_ call: StoreCall) async throws {
    let (keys, partition, number) = (test.keys, call.slice, UInt8(call.target))
    let answer = try await test.redis.script(
      StoreScripts.edit,
      keys: [
        keys.devices(partition), keys.users(partition), keys.quarantine(partition), keys.attributes(partition),
        keys.pressure(partition), keys.removals(partition), keys.retained(partition), keys.departures(partition),
      ]
    ) {
      $0.append(Self.user(partition, number))
      $0.append(Self.token(partition, number))
      $0.append("remove")
      $0.append(Int(Self.registeredAt))
      $0.append("")
    }.get()
    try check(answer.first?.integer == 1, "\(call): \(answer)")
  }

  private func counters(_ tally: SIMD8<Int16>) -> SliceCounters {
    var counters = SliceCounters()
    counters.targets = Int(tally[SliceState.targetsPlace])
    counters.resent = Int(tally[SliceState.resentPlace])
    for ending in Ending.allCases where tally[ending.place] != 0 {
      if let outcome = Outcome(rawValue: ending.rawValue) { counters.outcomes[outcome] = Int(tally[ending.place]) }
    }
    return counters
  }

  private func check(_ holds: Bool, _ what: String) throws {
    guard holds else { throw TestSupportError("the store answered otherwise than the model: \(what)") }
  }

  /// Returns the difference between the store and the model; `nil` if there is none.
  mutating func difference() async throws -> String? {
    if isBetween { return nil }
    for number in 0..<slices {
      let (stored, expected) = (try await stored(number), expected(number))
      if stored != expected { return "slice \(number) is \(stored), expected \(expected)" }
      for endings in [[Ending.accepted, .unknown], [.cancelled], [.failed], [.gone]] {
        let (found, expected) = (try await reached(number, endings), expectedReached(number, endings))
        if found != expected { return "slice \(number): \(endings) are \(found), expected \(expected)" }
      }
    }
    let (stored, expected) = (try await storedControl(), expectedControl())
    return stored == expected ? nil : "control is \(stored), expected \(expected)"
  }
}
