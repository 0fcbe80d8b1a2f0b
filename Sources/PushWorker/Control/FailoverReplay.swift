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
  /// `EventLoop.now` when it was let go of, or last told of again.
  var at: UInt64

  init(_ session: SliceSession, at now: UInt64) {
    ledger = session.ledger
    context = session.context
    seal = session.claim.seal
    granted = session.claim.granted
    ending = session.claim.ending
    journal = session.journal
    at = now
  }
}

/// What a worker remembers for the case that Redis forgets: a crash, or a failover to a replica that was behind, undoes
/// writes that it had acknowledged. Pure: time is an argument.
struct FailoverReplay {
  /// What a look at Redis came to.
  enum Finding: Equatable {
    /// The first look.
    case new
    /// The server that was there before.
    case same
    /// Another server, or one that has lost its memory: it is to be told again.
    case changed
  }

  /// Slices let go of in the last seconds.
  private(set) var former: [FormerSlice] = []
  /// Which server Redis last was, and of which line of writes.
  private var server = ""
  /// On which connections a server last answered.
  private var connections: [UInt64] = []
  /// `EventLoop.now` from which on slices are taken, after Redis may have forgotten something.
  private var claimsResume: UInt64 = 0
  /// `EventLoop.now` from which on slices are taken over whose owners could not renew their leases meanwhile.
  private var takeoversResume: UInt64 = 0
  /// When a server was last seen that we knew and that takes writes, in ms since the epoch.
  private(set) var seenDurableAt: UInt64 = 0
  /// Redis is yet to be told again of former slices.
  private(set) var isDue = false
  private var isRunning = false

  /// ns of grace after Redis may have forgotten, in which nothing is taken or sent anew: the others' turn to tell it what
  /// they know. They try to connect at least once a second; looking and telling takes some 100 ms.
  static let grace: UInt64 = 3_000_000_000
  /// ms without any heartbeat after which there was nobody, or Redis was away: an idle worker gives one every two seconds.
  static let silence = 4000
  /// ms by which a campaign may be older than the last look at a server that has forgotten it, and still be missing only
  /// because the end of its log is: what is older Redis has really lost, and it is not for us to begin it again.
  private static let forgettable = 2 * Int(SliceJournal.memory / 1_000_000)

  // MARK: Looking

  /// Takes note of which server answered on two connections.
  mutating func look(_ first: String, _ second: String) -> Finding {
    defer { server = first == second ? first : "changing" }
    if server.isEmpty { return .new }
    // Two answers mean that it is changing just now: it is looked at again.
    return first == server && second == server ? .same : .changed
  }

  /// Takes note of the connections on which a server answered.
  ///
  /// - Returns: whether they are others than at the last look.
  mutating func noteConnections(_ numbers: [UInt64]) -> Bool {
    defer { connections = numbers }
    return !connections.isEmpty && connections != numbers
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

  // MARK: Remembering

  /// Remembers a slice that is being let go of.
  mutating func keep(_ session: SliceSession, at now: UInt64) {
    guard session.isReady, session.claim.granted > 0 || session.journal.targets != nil || session.claim.ending != nil
    else { return }
    former.append(FormerSlice(session, at: now))
    if session.claim.mustReplay { isDue = true }
  }

  /// Lets go of what a server that is still there has had the time to make durable. Not of more when it is away: what it
  /// forgets is what came last before it died, however long ago that is.
  ///
  /// - Parameter clock: ms since the epoch.
  /// - Returns: false when all of it may be needed yet.
  mutating func forget(before now: UInt64, clock: UInt64) -> Bool {
    guard !isDue, !isRunning else { return false }
    seenDurableAt = clock
    former.removeAll { now - $0.at > SliceJournal.memory }
    for index in former.indices { former[index].journal.forget(before: now) }
    return true
  }

  // MARK: Telling again

  /// Redis is to be told again of former slices.
  mutating func mustRun() { isDue = true }

  /// - Returns: whether it is due, and not under way.
  mutating func begin() -> Bool {
    guard isDue, !isRunning else { return false }
    isRunning = true
    isDue = false
    return true
  }

  mutating func end() { isRunning = false }

  /// Campaigns that Redis has really lost: nothing of theirs is told again.
  mutating func drop(_ campaigns: Set<String>) { former.removeAll { campaigns.contains($0.context.campaign.id) } }

  /// Puts back what was told of, in place of the first ones: what was let go of meanwhile stands behind them.
  mutating func replace(first count: Int, with told: [FormerSlice]) {
    former.replaceSubrange(0..<min(count, former.count), with: told)
  }

  /// Whether a campaign that Redis does not know may be missing only because it forgot its last writes.
  func mayBeForgotten(_ context: CampaignContext) -> Bool {
    context.createdAt + Self.forgettable > Int(seenDurableAt)
  }
}
