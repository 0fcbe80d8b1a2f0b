import PushTransport
import CampaignStore
import EventLoop
import PushCore

/// The work of this worker on one held slice, from the claim to the release. Confined to the worker's loop.
///
/// The driver (``SliceDriver``, or ``SliceBatchDriver`` for a batch) runs the next step, ``SliceSituation/next``. If
/// this step is ``SliceStep/wait``, the driver suspends until ``wake()``.
final class SliceSession {
  /// The slot in ``SliceTable``, and the common part of the tags of the slice's pushes.
  let tag: SliceTag
  let ledger: SliceLedger
  let context: CampaignContext
  /// The store for the expansion. It uses only the connection on which the slice was claimed.
  let expanding: CampaignStore
  private(set) var intent = SliceSituation.Intent.send
  /// Credit of the worker's window that this slice holds.
  private(set) var credit = 0
  /// The last state of the slice that Redis reported.
  var claim = SliceClaim()
  /// The targets in doubt.
  var doubt = SliceDoubt()
  /// Recent writes that Redis may lose.
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

  // MARK: State

  /// Whether the slice's targets are known.
  var isReady: Bool { targets.count != nil }

  /// Number of targets that were never granted and can be granted.
  var ungranted: Int { max(0, (targets.count ?? 0) - claim.later - claim.granted) }

  /// Records the targets after their list was sealed.
  ///
  /// - Parameter times: Send times of the targets; `nil` if all can be sent immediately.
  func seal(
    _ seal: [UInt8], count: Int, granted: Int = 0, waiting: Int = 0, later: Int = 0, times: SliceTimes? = nil
  ) {
    targets.seal(count, times)
    claim.seal = seal
    claim.granted = granted
    claim.record(waiting: waiting, later: later)
    pending.outcomes.prepare(for: count)
  }

  /// Returns the interval between renewals of a lease, in ns.
  static func renewal(of lease: UInt64) -> UInt64 { lease / 3 }

  /// Applies the answer to a claim.
  ///
  /// - Parameters:
  ///   - claimedAt: Monotonic time in ns of the request for the claim. The lease begins at or after this time.
  ///   - lease: In ns.
  func adopt(_ progress: SliceProgress, at claimedAt: UInt64, lease: UInt64) {
    claim.renewAt = claimedAt + Self.renewal(of: lease)
    context.facts.route.maySend(until: claimedAt + lease)
    claim.departures = progress.departures
    targets.departed.forgetNumber()
    guard progress.isSealed else { return }
    claim.version = progress.version
    if isReady {
      claim.seal = progress.seal
    } else {
      seal(
        progress.seal, count: progress.count, granted: progress.granted, waiting: progress.waiting,
        later: progress.later, times: progress.times.map(context.times))
    }
  }

  /// Returns whether a target is sent now, sent later, or expired.
  ///
  /// - Parameter now: ms since the epoch.
  func decision(of index: Int, now: Int) -> SliceTimes.Decision {
    if let decision = targets.times?.decision(of: index, now: now) { return decision }
    return context.schedule.deadline.map { $0 * 1000 <= now } ?? false ? .expire : .send
  }

  /// Returns the time after which a target is no longer sent, in UNIX seconds; `nil` for no limit.
  func deadline(of index: Int) -> Int? { targets.times.map { $0.deadline(of: index) } ?? context.schedule.deadline }

  /// Stops sending, and sets the purpose for which the worker holds the slice from now on.
  ///
  /// - Returns: `false` if the slice has this intent already, or its intent is final.
  func stopSending(_ intent: SliceSituation.Intent) -> Bool {
    guard self.intent != intent, self.intent != .lost, self.intent != .cancel else { return false }
    self.intent = intent
    return true
  }

  func add(credit change: Int) { credit += change }

  /// Returns all facts that the next step depends on.
  ///
  /// - Parameters:
  ///   - credit: Credit that could be allocated to the slice.
  ///   - reach: The maximum credit that the pool of the slice could hold while other pools keep theirs.
  ///   - lease: In ns.
  ///   - now: `EventLoop.now`.
  ///   - clock: the present time by Redis' clock, in ms since the epoch.
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
    situation.mayGetMoreAnswers =
      context.guard.isSuspended || context.guard.isUndecided && context.facts.limits.delaysPushes
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

  /// Returns how many targets could be sent immediately.
  func sendable(_ now: UInt64) -> Int {
    guard isReady, !claim.mustReplay, !claim.mustReconcile else { return 0 }
    let isDue = claim.nextRetry.map { $0 <= now } ?? false
    return ungranted + doubt.targets.count + doubt.deferred.count + (isDue ? claim.waiting + claim.later : 0)
  }

  /// Returns whether the tokens of all targets that a commit with this credit could grant are in memory.
  func mayCommitImmediately(_ credit: Int) -> Bool {
    let next = claim.granted..<min(claim.granted + credit, targets.count ?? 0)
    return credit == 0 || targets.inFlight.missing(next) == nil
  }

  /// Returns whether the slice has nothing left to send or record after this batch of outcomes, which was taken from
  /// its queue.
  func ends(with batch: OutcomeBatch) -> Bool {
    intent == .send && isReady && ungranted == 0 && pending.unanswered == 0 && pending.deferred.isEmpty
      && pending.outcomes.count == 0 && doubt.isEmpty && doubt.bisection == nil && claim.waiting == 0
      && claim.later == 0
      && claim.uncertain == 0
      && !claim.mustReplay
      && !claim.mustReconcile && batch.isFinal
  }

  /// Returns the number of the variant of a loaded target, as the ledger counts it; 0 for no variant.
  func variant(of index: Int) -> UInt8 {
    guard let content = context.campaign.message.content, let (chunk, position) = targets.inFlight.place(of: index),
      position < chunk.count, let place = content.variant(of: chunk.values(position))
    else { return 0 }
    return UInt8(place + 1)
  }

  // MARK: Waiting

  /// The number of the batch of slices that contains this slice; `nil` for none.
  var sliceBatch: Int? { wakeUp.sliceBatch }

  /// Adds the slice to a batch of slices, which one task runs. From then on, ``wake()`` wakes the task of the batch.
  func join(_ sliceBatch: Int, _ signal: LoopSignal) { wakeUp = SliceWakeUp(signal: signal, sliceBatch: sliceBatch) }

  /// Removes the slice from its batch.
  func leaveBatch() { wakeUp = SliceWakeUp() }

  /// Suspends until ``wake()``.
  func wait() async { await wakeUp.signal.wait() }

  func wake() { wakeUp.signal.wake() }

  // MARK: Targets

  /// Removes a target from the targets in flight, after its outcome was queued.
  func end(_ index: Int) {
    targets.inFlight.end(index, granted: claim.granted)
    pending.outcomes.markUnrecorded(index)
  }

  /// Loads the tokens of targets that are not loaded. Reads targets from Redis only if the journal does not have them.
  /// The journal has the targets that this worker sealed recently.
  func load(_ indexes: some Collection<Int>) async throws {
    let size = TargetsInFlight.chunkSize
    // A loaded chunk may be released while another chunk is read. The loop therefore repeats until no chunk is missing.
    while let number = targets.inFlight.missing(indexes) {
      if let sealed = journal.targets, sealed.count == targets.count {
        targets.inFlight.keep(sealed.chunk(from: number * size, count: size), number: number)
      } else {
        targets.inFlight.keep(
          try await ledger.targets(from: number * size, count: size, of: targets.count ?? 0, seal: claim.seal),
          number: number)
      }
    }
  }

  /// Error when Redis could not check granted targets again, so that they can't be sent.
  private struct NotSealed: Error, CustomStringConvertible {
    var description: String { "the granted targets of the slice could not be checked, because Redis lost its seal" }
  }

  /// Compares the users of the targets that the next commit may grant with the departed users (``DepartedUsers``).
  /// Compares none if some of the targets are not in memory.
  func compare(within credit: Int) -> ComparedTargets {
    let next = claim.granted..<max(claim.granted, min(claim.granted + credit, targets.count ?? 0))
    guard !targets.departed.isEmpty, !next.isEmpty, targets.inFlight.missing(next) == nil else {
      return ComparedTargets()
    }
    let suspects = suspects(among: next).compactMap { index in
      targets.inFlight.place(of: index).map { $0.chunk.target($0.position) }
    }
    return ComparedTargets(indexes: next, changes: targets.departed.changes, suspects: suspects)
  }

  /// Returns the targets whose users may have departed, in the same order. Leaves out targets that are not loaded.
  private func suspects(among indexes: some Collection<Int>) -> [Int] {
    var suspects: [Int] = []
    let departed = targets.departed
    var next = indexes.startIndex
    // Handles consecutive targets of one chunk together.
    while next < indexes.endIndex, let (chunk, position) = targets.inFlight.place(of: indexes[next]),
      position < chunk.count
    {
      let first = indexes[next]
      var run = 0
      repeat {
        run += 1
        indexes.formIndex(after: &next)
      } while next < indexes.endIndex && run < chunk.count - position && indexes[next] == first + run
      chunk.forEachUser(position..<(position + run)) { position, user in
        if departed.mayInclude(user) { suspects.append(chunk.first + position) }
      }
    }
    return suspects
  }

  /// Checks newly granted targets whose users may have departed.
  ///
  /// - Parameter compared: Targets that were compared before the commit. In the commit, Redis has checked the suspects
  ///   among them.
  func check(
    _ granted: [GrantedTarget], except compared: ComparedTargets
  ) async throws {
    guard !targets.departed.isEmpty else { return }
    // If the commit reports no further departures, Redis has checked all suspects in the commit.
    let isComplete = compared.changes == targets.departed.changes
    let indexes = granted.map(\.index).filter { !(isComplete && compared.indexes.contains($0)) }
    guard !indexes.isEmpty else { return }
    try await load(indexes)
    let known = Set(compared.suspects.map(\.index))
    try await regrant(suspects(among: indexes).filter { !known.contains($0) })
  }

  /// Asks Redis again for decisions about granted targets. A target that was withheld when it was granted stays
  /// withheld.
  func regrant(
    _ indexes: [Int]
  ) async throws {
    let asked = indexes.compactMap { index -> SealedTarget? in
      guard targets.decisions[index].withheld == nil, let (chunk, position) = targets.inFlight.place(of: index),
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
      targets.decisions.record(decision, target.index, of: targets.count ?? 0)
    }
  }
}
