/// Keeps one wrong setting from erasing the device base: watches what the push service says of a campaign's tokens. Pure.
///
///   undecided ─ the fleet has the minimum, shares in bounds ──► open ── a share passes its bound ──► tripped
///        └────── the fleet has the minimum, a share out of bounds ────────────────────────────────────┘
///
/// While undecided, prunes and quarantines are to be held back; once open they are carried out; once tripped they are
/// dropped, and the campaign is to be paused, or left to others. It never leaves `tripped`: who resumes the campaign starts
/// a new guard, or one that is open and stays so.
///
/// What all workers were answered decides while undecided; once open, a worker goes by its own answers, and by those that
/// the fleet tells each other of (``watch(_:)``). Their window slides by halving: when twice ``GuardPolicy/minimum`` are
/// counted, all counts are halved. So a share is always of the latest `minimum` to `2 × minimum` answers, older ones
/// weighing less, in three integers. A worker that has fewer, as it came late, counts the missing ones as good: more than
/// they could make up for trips it at once.
///
/// Among others, a worker of whose answers most are bad asks first whether it is the only one: what is wrong may be its own
/// settings. Until that is known the guard is *suspended*: prunes and quarantines are held back, and its own answers trip
/// nothing.
public struct CampaignGuard: Sendable, Equatable {
  /// What is to be done with prunes and quarantines.
  public enum State: Sendable, Equatable {
    /// Hold them back: too few answers to tell.
    case undecided
    /// Carry them out.
    case open
    /// Drop them, and pause the campaign or leave it to others.
    case tripped(reason: String)
  }

  public private(set) var state = State.undecided
  /// What was counted here: all of it while undecided, then the window.
  public private(set) var counts = GuardCounts()
  /// The bounds.
  public let policy: GuardPolicy
  private let app: String
  /// Whether everything is carried out, whatever its share.
  public let isOff: Bool
  /// Whether others are to be asked if their answers are as bad.
  public private(set) var isSuspended = false
  /// Bad answers before they are asked.
  private var patience: Int

  /// - Parameters:
  ///   - policy: the bounds.
  ///   - app: the app's name, for the reason.
  ///   - isOff: whether everything is carried out, whatever its share.
  public init(_ policy: GuardPolicy, app: String, isOff: Bool = false) {
    self.policy = policy
    self.app = app
    self.isOff = isOff
    // Fewer may be chance; more than would trip it are too many.
    let trips = Double(policy.minimum) * min(policy.threshold, policy.pruneShare)
    patience = max(1, min(5, Int(trips)))
    if isOff { state = .open }
  }

  /// Whether prunes and quarantines are to be held back.
  public var isUndecided: Bool {
    if case .undecided = state { true } else { false }
  }

  /// Why the campaign is to be paused, if it is.
  public var tripReason: String? {
    if case .tripped(let reason) = state { reason } else { nil }
  }

  /// Takes an answer into account.
  ///
  /// - Parameter isAlone: whether there are no others to ask.
  /// - Returns: whether ``state`` is another now.
  public mutating func count(_ outcome: Outcome, isAlone: Bool = true) -> Bool {
    guard counts.count(outcome) else { return false }
    if !isAlone, outcome != .accepted, isOdd { isSuspended = true }
    return judgeOwn()
  }

  /// Whether most answers are bad, and there are enough of them to ask others.
  private var isOdd: Bool {
    let bad = counts.suspects + counts.gone
    return bad >= patience && 2 * bad > counts.answers && tripReason == nil && !isOff
  }

  /// The others' answers are as bad, or there is nobody to tell: it goes by what it knows, and asks again when there are
  /// twice as many bad ones.
  ///
  /// - Returns: whether ``state`` is another now.
  public mutating func goOn() -> Bool {
    isSuspended = false
    patience = 2 * (counts.suspects + counts.gone)
    return judgeOwn()
  }

  /// Only here are the answers bad: the campaign is left to the others.
  ///
  /// - Returns: what is wrong, for people.
  public mutating func standDown() -> String {
    let reason = complaint(of: counts) ?? "most of \(counts.answers) answers were bad"
    isSuspended = false
    state = .tripped(reason: reason)
    return reason
  }

  /// Trips, once open, when what was counted here is out of bounds.
  private mutating func judgeOwn() -> Bool {
    guard state == .open, !isSuspended else { return false }
    var least = counts
    least.answers = max(counts.answers, policy.minimum)
    guard objection(to: least) == nil else { return decide(on: counts) }
    if counts.answers >= 2 * policy.minimum { counts.halve() }
    return false
  }

  /// Decides, while undecided, once the fleet has answers enough.
  ///
  /// - Parameter fleet: what all workers were answered.
  /// - Returns: whether ``state`` is another now.
  public mutating func judge(_ fleet: GuardCounts) -> Bool {
    guard isUndecided, fleet.answers >= policy.minimum else { return false }
    return decide(on: fleet)
  }

  /// Trips, while undecided, when its own shares and those of its app's latest campaigns are out of bounds: what is too
  /// small to be decided on alone may be one of many.
  ///
  /// - Parameters:
  ///   - own: what the campaign was answered, however little.
  ///   - app: what the latest campaigns of its app were.
  /// - Returns: whether ``state`` is another now.
  public mutating func judge(_ own: GuardCounts, amongThoseOfItsApp app: GuardCounts) -> Bool {
    guard isUndecided, objection(to: own) != nil, app.answers >= policy.minimum, let reason = objection(to: app) else {
      return false
    }
    state = .tripped(reason: "with the campaigns before it: " + reason)
    return true
  }

  /// Trips, once open, when the fleet's latest answers are out of bounds; those that are missing to the minimum count as
  /// good.
  ///
  /// - Returns: whether ``state`` is another now.
  public mutating func watch(_ fleet: GuardCounts) -> Bool {
    var least = fleet
    least.answers = max(fleet.answers, policy.minimum)
    guard state == .open, objection(to: least) != nil else { return false }
    return decide(on: fleet)
  }

  /// Decides on the answers there are, be they fewer than the minimum: where no more can be held back.
  ///
  /// - Returns: whether ``state`` is another now.
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

  /// What is wrong with the shares, however few answers they are of, and what to do; `nil` for nothing.
  public func objection(to counts: GuardCounts) -> String? {
    complaint(of: counts).map { $0 + Self.remedy }
  }

  /// What is to be done about a guard that has tripped everywhere.
  public static let remedy = "; mend it and resume, or resume --unguarded if the answers are right"

  private func complaint(of counts: GuardCounts) -> String? {
    guard counts.answers > 0, !isOff else { return nil }
    let (suspects, gone) = (
      Double(counts.suspects) / Double(counts.answers), Double(counts.gone) / Double(counts.answers)
    )
    if suspects > policy.threshold {
      return "\(percent(suspects)) of \(counts.answers) answers called the token bad or of another topic: looks like "
        + "the wrong environment for app \(app), or the wrong topic"
    }
    if gone > policy.pruneShare {
      return "\(percent(gone)) of \(counts.answers) answers were 410, device gone: looks like the wrong devices or "
        + "environment for app \(app)"
    }
    return nil
  }

  private func percent(_ share: Double) -> String { "\(Int((share * 100).rounded())) %" }
}
