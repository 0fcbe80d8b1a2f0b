import CampaignStore
import PushCore

/// A slice that this worker has let go of, for as long as Redis may forget what became of it.
struct FormerSlice {
  let ledger: SliceLedger
  let context: CampaignContext
  let seal: [UInt8]
  let granted: Int
  let ending: Closing?
  var journal: SliceJournal
  /// What was decided about its granted targets.
  let decisions: GrantDecisions
  /// `EventLoop.now` when it was let go of, or last told of again.
  var at: UInt64
  /// The server that has it is to be told again.
  var isDue: Bool
  /// Nothing of it is to be told any more.
  fileprivate(set) var isOver = false

  init(_ session: SliceSession, at now: UInt64) {
    ledger = session.ledger
    context = session.context
    seal = session.claim.seal
    granted = session.claim.granted
    ending = session.claim.ending
    journal = session.journal
    decisions = session.targets.decisions
    at = now
    isDue = session.claim.mustReplay
  }
}

/// What a worker remembers for the case that Redis forgets: a crash, or a failover to a replica that was behind, undoes
/// writes that it had acknowledged. Pure: time is an argument.
struct FailoverReplay {
  /// What a look at Redis came to, by the places of servers. Those that are seen for the first time with all others are
  /// neither the same nor changed.
  struct Finding: Equatable {
    /// Nothing was known before.
    var isFirst = false
    /// Servers that were there before.
    var same: Set<String> = []
    /// Other servers than before, or such as have lost their memory: they are to be told again. One of which nothing was
    /// known is among them: it may have been somebody's replica.
    var changed: Set<String> = []
  }

  /// Slices let go of in the last seconds.
  private(set) var former: [FormerSlice] = []
  /// By place, which server was there last, and of which line of writes.
  private var servers: [String: String] = [:]
  /// By place, on which connections it last answered.
  private var connections: [String: [UInt64]] = [:]
  /// `EventLoop.now` when it was looked last which server answers.
  var lookedAt: UInt64 = 0
  /// `EventLoop.now` from which on slices are taken, after Redis may have forgotten something.
  private(set) var claimsResume: UInt64 = 0
  /// `EventLoop.now` from which on slices are taken over whose owners could not renew their leases meanwhile.
  private var takeoversResume: UInt64 = 0
  /// When the server of the shared keys was last seen to be one that we knew and that takes writes, in ms since the epoch.
  private(set) var seenDurableAt: UInt64 = 0
  /// Redis is yet to be told again of former slices.
  private(set) var isDue = false
  private var isRunning = false
  /// `EventLoop.now` when this worker was last seen to run.
  private var ranAt: UInt64 = 0
  /// `EventLoop.now` when it went on after it had stood still; 0 for never.
  private var wentOnAt: UInt64 = 0
  /// How often servers were seen to have forgotten.
  private(set) var losses = 0
  /// Whether what this worker knows of former slices is yet to be told, or being told.
  var isPending: Bool { isDue || isRunning }

  /// ns of grace after Redis may have forgotten, in which nothing is taken or sent anew: the others' turn to tell it what
  /// they know. They try to connect at least once a second; looking and telling takes some 100 ms.
  static let grace: UInt64 = 3_000_000_000
  /// ms without any heartbeat after which there was nobody, or Redis was away: an idle worker gives one every 2.5 s.
  static let silence = 4000
  /// ms by which a campaign may be older than the last look at a server that has forgotten it, and still be missing only
  /// because the end of its log is: what is older Redis has really lost, and it is not for us to begin it again.
  private static let forgettable = 2 * Int(SliceJournal.memory / 1_000_000)

  // MARK: Looking

  /// Takes note of which servers answered to two clients, each by its place.
  mutating func look(_ first: [String: String], _ second: [String: String]) -> Finding {
    var finding = Finding(isFirst: servers.isEmpty)
    for place in Set(first.keys).union(second.keys) {
      let names = Set([first[place], second[place]].compactMap(\.self))
      if !finding.isFirst {
        // Two answers mean that it is changing just now: it is looked at again.
        if names == [servers[place] ?? ""] { finding.same.insert(place) } else { finding.changed.insert(place) }
      }
      servers[place] = names.count == 1 ? names.first : "changing"
    }
    return finding
  }

  /// Takes note of the connections on which servers answered, by their places.
  ///
  /// - Returns: whether one that had answered before did so on others.
  mutating func noteConnections(_ numbers: [String: [UInt64]]) -> Bool {
    var isReconnected = false
    for (place, numbers) in numbers {
      if let before = connections.updateValue(numbers, forKey: place), before != numbers { isReconnected = true }
    }
    return isReconnected
  }

  /// Begins the grace period.
  ///
  /// - Parameter lease: ns; so long the owners of claims that ran out while Redis was away have to renew them.
  mutating func beginGrace(_ now: UInt64, lease: UInt64) {
    claimsResume = now + Self.grace
    takeoversResume = now + lease
  }

  /// Whether others may still be telling Redis what it forgot.
  func isInGrace(_ now: UInt64) -> Bool { now < claimsResume }

  /// ms for which claims that have run out are left to their owners.
  func takeoverGrace(_ now: UInt64) -> Int { Int(takeoversResume - min(takeoversResume, now)) / 1_000_000 }

  /// Takes note that this worker runs; more often than it takes to forget anything.
  mutating func noteRunning(_ now: UInt64) {
    if ranAt > 0, now - ranAt > SliceJournal.memory { wentOnAt = now }
    ranAt = now
  }

  /// ns to wait before anything is told again; 0 for not at all.
  ///
  /// What a worker knows that stood still (a stopped process, a paused machine) is out of date: others may have had its
  /// slices since, and Redis may have forgotten that too. Were it the first to bring its targets back, what they know of
  /// theirs would be of no use. So they tell first, and it tells before they go on, as nobody else may know anything.
  func delay(_ now: UInt64) -> UInt64 {
    guard wentOnAt > 0, now - wentOnAt < Self.grace else { return 0 }
    let begin = claimsResume - min(claimsResume, Self.grace / 2)
    return begin - min(begin, now)
  }

  // MARK: Remembering

  /// Remembers a slice that is being let go of.
  mutating func keep(_ session: SliceSession, at now: UInt64) {
    guard session.isReady, session.claim.granted > 0 || session.journal.targets != nil || session.claim.ending != nil
    else { return }
    former.append(FormerSlice(session, at: now))
    if session.claim.mustReplay { isDue = true }
  }

  /// Lets go of what servers that are still there have had the time to make durable. Not of more when one is away: what it
  /// forgets is what came last before it died, however long ago that is.
  ///
  /// - Parameters:
  ///   - clock: ms since the epoch; `nil` when the server of the shared keys is not still there.
  ///   - isDurable: whether the server of a partition is.
  /// - Returns: false when all of it may be needed yet.
  mutating func forget(before now: UInt64, clock: UInt64?, where isDurable: (_ partition: Int) -> Bool) -> Bool {
    guard !isDue, !isRunning else { return false }
    if let clock { seenDurableAt = clock }
    former.removeAll { now - $0.at > SliceJournal.memory && isDurable($0.ledger.slice.partition) }
    for index in former.indices where isDurable(former[index].ledger.slice.partition) {
      former[index].journal.forget(before: now)
    }
    return true
  }

  // MARK: Telling again

  /// Redis is to be told again of former slices.
  ///
  /// - Parameter isForgotten: whether the server of a partition may have forgotten.
  mutating func mustRun(where isForgotten: (_ partition: Int) -> Bool) {
    for index in former.indices where isForgotten(former[index].ledger.slice.partition) { former[index].isDue = true }
    losses += 1
    isDue = true
  }

  /// What was to be told could not be told to the end.
  mutating func mustRunAgain() { isDue = true }

  /// - Returns: whether it is due, and not under way.
  mutating func begin() -> Bool {
    guard isDue, !isRunning else { return false }
    isRunning = true
    isDue = false
    return true
  }

  /// What is to be told, by its places in ``former``, which stay as they are until ``end()``. Those of one slice stand
  /// together, in the order in which they were let go of.
  var due: [[Int]] {
    let places = former.indices.filter { former[$0].isDue && !former[$0].isOver }
    return Dictionary(grouping: places) { former[$0].ledger.slice }.values.sorted { $0[0] < $1[0] }
  }

  /// It was told of.
  ///
  /// - Parameters:
  ///   - slice: as it is to be remembered from now on; `nil` for not at all.
  ///   - losses: ``losses`` when the telling began. What was forgotten since is to be told once more.
  mutating func note(_ slice: FormerSlice?, at place: Int, since losses: Int) {
    guard losses == self.losses else { return }
    if let slice { former[place] = slice } else { former[place].isOver = true }
  }

  mutating func end() {
    isRunning = false
    former.removeAll(where: \.isOver)
  }

  /// Whether Redis is yet to be told of a slice what this worker knows of it. Until then it must not take the slice,
  /// however long the telling takes: it would send again what it has sent.
  func mustTell(of slice: SliceReference) -> Bool {
    isPending && former.contains { $0.isDue && $0.ledger.slice == slice }
  }

  /// Campaigns that Redis has really lost: nothing of theirs is told again.
  mutating func drop(_ campaigns: Set<String>) { former.removeAll { campaigns.contains($0.context.campaign.id) } }

  /// Whether a campaign that Redis does not know may be missing only because it forgot its last writes.
  func mayBeForgotten(_ context: CampaignContext) -> Bool {
    context.facts.createdAt + Self.forgettable > Int(seenDurableAt)
  }
}
