/// State machine that keeps one wrong setting from erasing the device base. It watches the push service's answers about
/// a campaign's tokens. Pure.
///
///   undecided ─ the fleet has the minimum, shares in bounds ──► open ── a share passes its bound ──► tripped
///        └────── the fleet has the minimum, a share out of bounds ────────────────────────────────────┘
///
/// While the guard is undecided, the worker must hold back prunes and quarantines. Once the guard is open, the worker
/// carries them out. Once it is tripped, the worker drops them and pauses the campaign or leaves it to other workers. A
/// guard never leaves `tripped`: a resume of the campaign starts a new guard, or one that is open and stays open.
///
/// While the guard is undecided, the answers to all workers decide. Once it is open, a worker uses its own answers and
/// the fleet's latest answers (``watch(_:)``). The window slides by halving: when it has twice ``GuardPolicy/minimum``
/// answers, all counts are halved. So a share always covers the latest `minimum` to `2 × minimum` answers, with less
/// weight for older ones, in three integers. If a worker has fewer answers because it joined late, it counts the
/// missing ones as good. The guard trips immediately if there are more bad answers than the missing ones can outweigh.
///
/// In a fleet, a worker with mostly bad answers first asks whether it is the only one, because its own settings may be
/// wrong. Until the reply arrives, the guard is *suspended*: the worker holds back prunes and quarantines, and its own
/// answers trip nothing.
public struct CampaignGuard: Sendable, Equatable {
  /// Decision about prunes and quarantines.
  public enum State: Sendable, Equatable {
    /// Hold them back: there are too few answers to decide.
    case undecided
    /// Carry them out.
    case open
    /// Drop them, and pause the campaign or leave it to other workers.
    case tripped(reason: String)
  }

  public private(set) var state = State.undecided
  /// Answers that this worker has counted: all of them while undecided, then those of the window.
  public private(set) var counts = GuardCounts()
  /// The bounds.
  public let policy: GuardPolicy
  private let app: String
  /// Whether the guard is off: the worker carries out everything, regardless of the share.
  public let isOff: Bool
  /// Whether the worker must ask the others if their answers are as bad.
  public private(set) var isSuspended = false
  /// Number of bad answers before the worker asks the others.
  private var patience: Int

  /// - Parameters:
  ///   - policy: the bounds.
  ///   - app: the app's name, for the reason.
  ///   - isOff: whether the worker carries out everything, regardless of the share.
  public init(_ policy: GuardPolicy, app: String, isOff: Bool = false) {
    self.policy = policy
    self.app = app
    self.isOff = isOff
    // Fewer bad answers may be chance. The number is at most the one that trips the guard.
    let trips = Double(policy.minimum) * min(policy.threshold, policy.pruneShare)
    patience = max(1, min(5, Int(trips)))
    if isOff { state = .open }
  }

  /// Whether the worker must hold back prunes and quarantines.
  public var isUndecided: Bool {
    if case .undecided = state { true } else { false }
  }

  /// Reason to pause the campaign; `nil` if the guard has not tripped.
  public var tripReason: String? {
    if case .tripped(let reason) = state { reason } else { nil }
  }

  /// Counts an answer.
  ///
  /// - Parameter isAlone: whether the fleet has no other workers to ask.
  /// - Returns: whether ``state`` changed.
  public mutating func count(_ outcome: Outcome, isAlone: Bool = true) -> Bool {
    guard counts.count(outcome) else { return false }
    if !isAlone, outcome != .accepted, isOdd { isSuspended = true }
    return judgeOwn()
  }

  /// Whether most answers are bad, and there are enough of them to ask the other workers.
  private var isOdd: Bool {
    let bad = counts.suspects + counts.gone
    return bad >= patience && 2 * bad > counts.answers && tripReason == nil && !isOff
  }

  /// Continues on the worker's own counts, because the other workers' answers are as bad or there is no other worker.
  /// The worker asks again when it has twice as many bad answers.
  ///
  /// - Returns: whether ``state`` changed.
  public mutating func goOn() -> Bool {
    isSuspended = false
    patience = 2 * (counts.suspects + counts.gone)
    return judgeOwn()
  }

  /// Withdraws this worker from the campaign, because only its own answers are bad.
  ///
  /// - Returns: the problem, for people.
  public mutating func standDown() -> String {
    let reason = complaint(of: counts) ?? "most of \(counts.answers) answers were bad"
    isSuspended = false
    state = .tripped(reason: reason)
    return reason
  }

  /// Trips an open guard if the counts of this worker are out of bounds.
  private mutating func judgeOwn() -> Bool {
    guard state == .open, !isSuspended else { return false }
    var least = counts
    least.answers = max(counts.answers, policy.minimum)
    guard objection(to: least) == nil else { return decide(on: counts) }
    if counts.answers >= 2 * policy.minimum { counts.halve() }
    return false
  }

  /// Decides an undecided guard as soon as the fleet has enough answers.
  ///
  /// - Parameter fleet: the answers to all workers.
  /// - Returns: whether ``state`` changed.
  public mutating func judge(_ fleet: GuardCounts) -> Bool {
    guard isUndecided, fleet.answers >= policy.minimum else { return false }
    return decide(on: fleet)
  }

  /// Trips an undecided guard if the campaign's shares and those of the app's latest campaigns are both out of bounds.
  /// A campaign that is too small for a decision of its own may be one of many.
  ///
  /// - Parameters:
  ///   - own: the answers to the campaign, however few.
  ///   - app: the answers to the latest campaigns of its app.
  /// - Returns: whether ``state`` changed.
  public mutating func judge(_ own: GuardCounts, amongThoseOfItsApp app: GuardCounts) -> Bool {
    guard isUndecided, objection(to: own) != nil, app.answers >= policy.minimum, let reason = objection(to: app) else {
      return false
    }
    state = .tripped(reason: "with the campaigns before it: " + reason)
    return true
  }

  /// Trips an open guard if the fleet's latest answers are out of bounds. Answers that are missing to the minimum count
  /// as good.
  ///
  /// - Returns: whether ``state`` changed.
  public mutating func watch(_ fleet: GuardCounts) -> Bool {
    var least = fleet
    least.answers = max(fleet.answers, policy.minimum)
    guard state == .open, objection(to: least) != nil else { return false }
    return decide(on: fleet)
  }

  /// Decides on the present answers, even if there are fewer than the minimum. Used when the worker can't hold back
  /// more.
  ///
  /// - Returns: whether ``state`` changed.
  public mutating func decide(on counts: GuardCounts) -> Bool {
    if case .tripped = state { return false }
    if let reason = objection(to: counts) {
      state = .tripped(reason: reason)
      return true
    }
    guard isUndecided else { return false }
    state = .open
    while self.counts.answers >= 2 * policy.minimum { self.counts.halve() }
    return true
  }

  /// Returns the problem with the shares and its remedy, even for few answers; `nil` if there is none.
  public func objection(to counts: GuardCounts) -> String? {
    complaint(of: counts).map { $0 + Self.remedy }
  }

  /// Remedy for a guard that has tripped on all workers.
  public static let remedy = "; fix the cause and resume, or resume with --unguarded if the answers are right"

  private func complaint(of counts: GuardCounts) -> String? {
    guard counts.answers > 0, !isOff else { return nil }
    let (suspects, gone) = (
      Double(counts.suspects) / Double(counts.answers), Double(counts.gone) / Double(counts.answers)
    )
    if suspects > policy.threshold {
      return
        "\(percent(suspects)) of \(counts.answers) answers rejected the token as bad or of another topic: probably "
        + "the wrong environment for app \(app), or the wrong topic"
    }
    if gone > policy.pruneShare {
      return "\(percent(gone)) of \(counts.answers) answers were 410, unregistered: probably the wrong devices or "
        + "environment for app \(app)"
    }
    return nil
  }

  private func percent(_ share: Double) -> String { "\(Int((share * 100).rounded())) %" }
}
