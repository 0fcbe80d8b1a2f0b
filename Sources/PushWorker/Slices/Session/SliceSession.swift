import PushTransport
import CampaignStore
import EventLoop
import PushCore

/// A slice in this worker's hands, from its claim until it is let go of. Confined to the worker's loop.
///
/// The driver does its next step, ``SliceSituation/next``, and waits for a wake-up when there is none.
final class SliceSession {
  /// Its place in the table, and what every tag of its pushes begins with.
  let tag: SliceTag
  let ledger: SliceLedger
  let context: CampaignContext
  /// For the expansion: the store by way of the connection on which the slice was claimed.
  let expanding: CampaignStore
  private(set) var intent = SliceSituation.Intent.send
  /// Credit of the worker's budget that this slice holds.
  private(set) var credit = 0
  /// What Redis last told of it.
  var claim = SliceClaim()
  /// What is in doubt.
  var doubt = SliceDoubt()
  /// What Redis may forget.
  var journal = SliceJournal()
  var targets = SliceTargets()
  var pending = PendingAnswers()
  private var wakeUp = SliceWakeUp()

  init(tag: SliceTag, ledger: SliceLedger, context: CampaignContext, expanding: CampaignStore) {
    self.tag = tag
    self.ledger = ledger
    self.context = context
    self.expanding = expanding
  }

  var slice: SliceReference { ledger.slice }

  // MARK: Standing

  /// Whether its targets are known.
  var isReady: Bool { targets.count != nil }

  /// Targets that were never granted, and could be.
  var ungranted: Int { max(0, (targets.count ?? 0) - claim.later - claim.granted) }

  /// Takes note of the targets, once they are sealed.
  ///
  /// - Parameter times: when they may be sent; `nil` for all at once.
  func seal(
    _ seal: [UInt8], count: Int, granted: Int = 0, waiting: Int = 0, later: Int = 0, times: SliceTimes? = nil
  ) {
    targets.seal(count, times)
    claim.seal = seal
    claim.granted = granted
    claim.note(waiting: waiting, later: later)
    pending.outcomes.prepare(for: count)
  }

  /// Returns the ns between renewals of a lease.
  static func renewal(of lease: UInt64) -> UInt64 { lease / 3 }

  /// Notes what a claim brought.
  ///
  /// - Parameters:
  ///   - claimedAt: when the claim was asked for, monotonic ns: its lease begins no earlier.
  ///   - lease: ns.
  func adopt(_ standing: SliceStanding, at claimedAt: UInt64, lease: UInt64) {
    claim.renewAt = claimedAt + Self.renewal(of: lease)
    context.facts.route.maySend(until: claimedAt + lease)
    claim.departures = standing.departures
    targets.departed.forgetNumber()
    guard standing.isSealed else { return }
    claim.version = standing.version
    if isReady {
      claim.seal = standing.seal
    } else {
      seal(
        standing.seal, count: standing.count, granted: standing.granted, waiting: standing.waiting,
        later: standing.later, times: standing.times.map(context.times))
    }
  }

  /// What is to become of a target that could be sent now.
  ///
  /// - Parameter now: ms since the epoch.
  func fate(of index: Int, now: Int) -> SliceTimes.Fate {
    if let fate = targets.times?.fate(of: index, now: now) { return fate }
    return context.schedule.deadline.map { $0 * 1000 <= now } ?? false ? .expire : .send
  }

  /// UNIX seconds from which on a target is not sent any more; `nil` for never.
  func deadline(of index: Int) -> Int? { targets.times.map { $0.deadline(of: index) } ?? context.schedule.deadline }

  /// Stops sending, or says for what else the slice is held from now on.
  ///
  /// - Returns: false when that is so already, or nothing can change it any more.
  func withdraw(_ intent: SliceSituation.Intent) -> Bool {
    guard self.intent != intent, self.intent != .lost, self.intent != .cancel else { return false }
    self.intent = intent
    return true
  }

  func note(credit change: Int) { credit += change }

  /// Everything that its next step depends on.
  ///
  /// - Parameters:
  ///   - credit: what could be lent to it.
  ///   - reach: what its pool could come to hold.
  ///   - lease: ns.
  ///   - now: `EventLoop.now`.
  ///   - clock: ms since the epoch.
  func situation(credit: Int, reach: Int, lease: UInt64, now: UInt64, clock: Int) -> SliceSituation {
    var situation = SliceSituation()
    situation.intent = intent
    situation.isForgotten = claim.mustReplay
    situation.pending = .init(
      outcomes: pending.outcomes.count, age: pending.outcomes.age(now), returning: pending.outcomes.nextCount,
      unanswered: pending.unanswered, deferred: pending.deferred.count)
    situation.credit = .init(
      amount: credit, reach: reach,
      isScarce: context.guard.isUndecided || context.facts.route.isStuck || !context.facts.limits.isEmpty)
    situation.mayMoreCome =
      context.guard.isSuspended || context.guard.isUndecided && context.facts.limits.obstacle != nil
      || (context.guard.isUndecided ? !context.trial.isQuiet(now: now, lease: lease) : context.reports.isDue)
    let ungranted = ungranted
    situation.backlog = .init(
      doubt: doubt.targets.count, ungranted: ungranted, waiting: claim.waiting + claim.later,
      nextRetry: claim.nextRetry.map { $0 > now ? Int(($0 - now) / 1_000_000) + 1 : 0 })
    if targets.times != nil, ungranted > 0, !claim.mustReconcile {
      situation.backlog.blocked =
        targets.times?.blocked(from: claim.granted, before: claim.granted + ungranted, now: clock) ?? 0
    }
    situation.isBisecting = doubt.bisection != nil
    situation.renews = now >= claim.renewAt
    return situation
  }

  /// Targets that could be sent at once.
  func sendable(_ now: UInt64) -> Int {
    guard isReady, !claim.mustReplay, !claim.mustReconcile else { return 0 }
    let isDue = claim.nextRetry.map { $0 <= now } ?? false
    return ungranted + doubt.targets.count + doubt.setAside.count + (isDue ? claim.waiting + claim.later : 0)
  }

  /// Whether the tokens are there that a commit could grant.
  func mayCommitAtOnce(_ credit: Int) -> Bool {
    let next = claim.granted..<min(claim.granted + credit, targets.count ?? 0)
    return credit == 0 || targets.underWay.missing(next) == nil
  }

  /// Whether nothing is left of it once outcomes are recorded that have been taken for it.
  func ends(with batch: OutcomeBatch) -> Bool {
    intent == .send && isReady && ungranted == 0 && pending.unanswered == 0 && pending.deferred.isEmpty
      && pending.outcomes.count == 0 && doubt.isEmpty && doubt.bisection == nil && claim.waiting == 0
      && claim.later == 0
      && claim.uncertain == 0
      && !claim.mustReplay
      && !claim.mustReconcile && batch.isFinal
  }

  /// What the ledger calls the variant of a target that has been read; 0 for none.
  func variant(of index: Int) -> UInt8 {
    guard let content = context.campaign.message.content, let (chunk, position) = targets.underWay.place(of: index),
      position < chunk.count, let place = content.variant(of: chunk.values(position))
    else { return 0 }
    return UInt8(place + 1)
  }

  // MARK: Waiting

  /// The bunch with which it is driven; `nil` for none.
  var bunch: Int? { wakeUp.bunch }

  /// Joins a bunch: the steps of the slice are taken when the bunch's signal rings.
  func join(_ bunch: Int, _ signal: LoopSignal) { wakeUp = SliceWakeUp(signal: signal, bunch: bunch) }

  /// Leaves its bunch.
  func leaveBunch() { wakeUp = SliceWakeUp() }

  /// Suspends until ``wake()``.
  func wait() async { await wakeUp.signal.wait() }

  func wake() { wakeUp.signal.ring() }

  // MARK: Targets

  /// Takes a target out of those under way, once its outcome is queued.
  func end(_ index: Int) {
    targets.underWay.end(index, granted: claim.granted)
    pending.outcomes.markUntold(index)
  }

  /// Reads the tokens of these targets that are not here. Targets that this worker sealed a moment ago are kept and need
  /// not be read.
  func load(_ indexes: some Collection<Int>) async throws {
    let size = TargetsUnderWay.chunkSize
    // What was read may be let go while more is being read, so this looks again until nothing is missing.
    while let number = targets.underWay.missing(indexes) {
      if let sealed = journal.targets, sealed.count == targets.count {
        targets.underWay.keep(sealed.chunk(from: number * size, count: size), number: number)
      } else {
        targets.underWay.keep(
          try await ledger.targets(from: number * size, count: size, of: targets.count ?? 0, seal: claim.seal),
          number: number)
      }
    }
  }

  /// Why granted targets can't be sent yet.
  private struct NotSealed: Error, CustomStringConvertible {
    var description: String { "its granted targets could not be checked: Redis has forgotten its seal" }
  }

  /// Those of the targets that a commit may grant whose users may have departed, as far as the targets are here.
  func suspects(within credit: Int) -> [SealedTarget] {
    let next = claim.granted..<min(claim.granted + credit, targets.count ?? 0)
    guard !targets.departed.isEmpty, !next.isEmpty, targets.underWay.missing(next) == nil else { return [] }
    return suspects(among: next).compactMap { index in
      targets.underWay.place(of: index).map { $0.chunk.target($0.position) }
    }
  }

  /// Which of these targets, in their order, have users who may have departed; those that are not here are left out.
  private func suspects(among indexes: some Collection<Int>) -> [Int] {
    var suspects: [Int] = []
    var rest = indexes[...]
    // Targets of one chunk, one behind the other.
    while let first = rest.first, let (chunk, position) = targets.underWay.place(of: first) {
      let most = min(rest.count, chunk.count - position)
      guard most > 0 else { break }
      let run = rest.prefix(most).enumerated().prefix { $0.element == first + $0.offset }.count
      chunk.forEachUser(position..<(position + run)) { position, user in
        if targets.departed.mayInclude(user) { suspects.append(chunk.first + position) }
      }
      rest = rest.dropFirst(run)
    }
    return suspects
  }

  /// Checks those of newly granted targets whose users may have targets.departed.
  ///
  /// - Parameter checked: those that were checked when they were granted.
  func check(
    _ granted: [GrantedTarget], except checked: [SealedTarget]
  ) async throws {
    guard !targets.departed.isEmpty else { return }
    let indexes = granted.map(\.index)
    try await load(indexes)
    let known = Set(checked.map(\.index))
    try await regrant(suspects(among: indexes).filter { !known.contains($0) })
  }

  /// Decides again about granted targets. What was withheld when it was granted stays so.
  func regrant(
    _ indexes: [Int]
  ) async throws {
    let asked = indexes.compactMap { index -> SealedTarget? in
      guard targets.decisions[index].withheld == nil, let (chunk, position) = targets.underWay.place(of: index),
        position < chunk.count
      else { return nil }
      return chunk.target(position)
    }
    guard !asked.isEmpty else { return }
    guard let answers = try await ledger.regrant(asked, seal: claim.seal) else {
      claim.mustReplay = true
      throw NotSealed()
    }
    for (target, decision) in zip(asked, answers) {
      targets.decisions.note(decision, target.index, of: targets.count ?? 0)
    }
  }
}
