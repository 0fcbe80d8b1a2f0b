/// State machine that protects the registered devices and the audience of a campaign from a wrong setting, such as the
/// wrong environment of an app, and from a wrong message. It counts the push service's answers to a campaign. If too
/// many answers are bad, the guard *trips*: the campaign pauses before the answers remove devices or end targets. The
/// type does no I/O.
///
///   undecided ─ enough answers, shares in bounds ──► open ── a share passes its bound ──► tripped
///        └────── enough answers, a share out of bounds ────────────────────────────────────┘
///
/// While the guard is undecided, the worker must hold back bad answers (``Disposition/waitsForGuard``), so that they
/// prune and quarantine no device and fail no target. When the guard is open, the worker records bad answers. When the
/// guard has tripped, the worker drops bad answers, and pauses the campaign or leaves it to other workers. A tripped
/// guard stays tripped. A resume of the campaign starts a new guard. After a resume with `--unguarded`, the new guard
/// is off.
///
/// An undecided guard decides when all workers together have received ``GuardPolicy/minimum`` answers. An open guard
/// uses the answers to this worker and the latest answers to all workers (``watch(_:)``). After an open guard has
/// counted twice ``GuardPolicy/minimum`` answers, it halves all counts. The counts therefore cover the latest `minimum`
/// to `2 × minimum` answers, and older answers have less weight. If a worker has fewer answers than `minimum` because
/// it joined late, the guard counts the missing answers as good. It trips if the bad answers exceed the bound in spite
/// of these added good answers.
///
/// The settings of a single worker may be wrong. A worker with mostly bad answers therefore first asks the other
/// workers for their answers. Until they reply, the guard of this worker is *suspended*: the worker holds back bad
/// answers, and its own answers don't trip the guard.
public struct CampaignGuard: Sendable {
  /// Decision about bad answers.
  public enum State: Sendable, Equatable {
    /// Hold back bad answers: there are too few answers to decide.
    case undecided
    /// Record bad answers.
    case open
    /// Drop bad answers, and pause the campaign or leave it to other workers.
    case tripped(reason: String)
  }

  public private(set) var state = State.undecided
  /// Answers that this worker has counted: all answers while the guard is undecided, later the latest answers.
  public private(set) var counts = GuardCounts()
  /// The bounds for the shares of bad answers.
  public let policy: GuardPolicy
  private let app: String
  private let service: any PushService
  /// Probable reason of the answers that refuse a token or the message.
  private var mainRefusal = MajorityReason()
  /// Probable reason of the answers which say that the device is gone.
  private var mainLoss = MajorityReason()
  /// Whether the guard is off. The worker then records any number of bad answers.
  public let isOff: Bool
  /// Whether the worker waits for the other workers' answers, to find out whether only its own answers are bad.
  public private(set) var isSuspended = false
  /// Number of bad answers at which the worker asks the other workers.
  private var badAnswersBeforeAsking: Int

  /// - Parameters:
  ///   - policy: the bounds for the shares of bad answers.
  ///   - app: the app's name, for the text of the reason.
  ///   - service: the push service that answers. It explains the probable cause in the text of the reason.
  ///   - isOff: whether the guard is off.
  public init(_ policy: GuardPolicy, app: String, service: any PushService, isOff: Bool = false) {
    self.policy = policy
    self.app = app
    self.service = service
    self.isOff = isOff
    // Fewer than 5 bad answers may be chance. If the guard can trip at a smaller number of bad answers, this number is
    // used, so that the worker asks before the guard trips.
    let trips = Double(policy.minimum) * min(policy.threshold, policy.pruneShare)
    badAnswersBeforeAsking = max(1, min(5, Int(trips)))
    if isOff { state = .open }
  }

  /// Whether the worker must hold back bad answers.
  public var isUndecided: Bool {
    if case .undecided = state { true } else { false }
  }

  /// Reason to pause the campaign; `nil` if the guard has not tripped.
  public var tripReason: String? {
    if case .tripped(let reason) = state { reason } else { nil }
  }

  /// Counts an answer.
  ///
  /// - Parameters:
  ///   - outcome: the outcome of the answer.
  ///   - reason: the service's reason of a refusal.
  ///   - isAlone: whether the fleet has no other workers to ask.
  /// - Returns: whether ``state`` changed.
  public mutating func count(_ outcome: Outcome, reason: ReasonCode = .none, isAlone: Bool = true) -> Bool {
    let before = counts
    guard counts.count(outcome) else { return false }
    if counts.suspects > before.suspects { mainRefusal.count(reason) }
    if counts.gone > before.gone { mainLoss.count(reason) }
    if !isAlone, outcome != .accepted, isMostlyBad { isSuspended = true }
    return evaluateOwn()
  }

  /// Whether most answers are bad, and there are enough of them to ask the other workers.
  private var isMostlyBad: Bool {
    let bad = counts.suspects + counts.gone
    return bad >= badAnswersBeforeAsking && 2 * bad > counts.answers && tripReason == nil && !isOff
  }

  /// Ends the suspension, because the other workers' answers are equally bad or there is no other worker. From now on,
  /// the worker's own answers can trip the guard. The worker asks again when it has twice as many bad answers.
  ///
  /// - Returns: whether ``state`` changed.
  public mutating func resume() -> Bool {
    isSuspended = false
    badAnswersBeforeAsking = 2 * (counts.suspects + counts.gone)
    return evaluateOwn()
  }

  /// Makes this worker decline the campaign, because only the answers to this worker are bad.
  ///
  /// - Returns: the problem, for people.
  public mutating func decline() -> String {
    let reason = problem(of: counts) ?? "most of \(counts.answers) answers were bad"
    isSuspended = false
    state = .tripped(reason: reason)
    return reason
  }

  /// Trips an open guard if the counts of this worker are out of bounds.
  private mutating func evaluateOwn() -> Bool {
    guard state == .open, !isSuspended else { return false }
    var least = counts
    least.answers = max(counts.answers, policy.minimum)
    guard reasonToPause(on: least) == nil else { return decide(on: counts) }
    if counts.answers >= 2 * policy.minimum { counts.halve() }
    return false
  }

  /// Decides an undecided guard as soon as the fleet has enough answers.
  ///
  /// - Parameter fleet: the answers that all workers got.
  /// - Returns: whether ``state`` changed.
  public mutating func evaluate(_ fleet: GuardCounts) -> Bool {
    guard isUndecided, fleet.answers >= policy.minimum else { return false }
    return decide(on: fleet)
  }

  /// Trips an undecided guard if two shares of bad answers are out of bounds: the share in the answers to this
  /// campaign, and the share in the answers to the app's latest campaigns. This check detects wrong settings if each
  /// campaign of an app is too small for a decision.
  ///
  /// - Parameters:
  ///   - own: the answers to the campaign's pushes; there may be few.
  ///   - app: the answers to the pushes of the app's latest campaigns.
  /// - Returns: whether ``state`` changed.
  public mutating func evaluate(_ own: GuardCounts, amongThoseOfItsApp app: GuardCounts) -> Bool {
    guard isUndecided, reasonToPause(on: own) != nil, app.answers >= policy.minimum, let reason = reasonToPause(on: app)
    else {
      return false
    }
    state = .tripped(reason: "with the campaigns before it: " + reason)
    return true
  }

  /// Trips an open guard if the latest answers to all workers are out of bounds. If there are fewer answers than the
  /// minimum, the missing answers count as good.
  ///
  /// - Returns: whether ``state`` changed.
  public mutating func watch(_ fleet: GuardCounts) -> Bool {
    var least = fleet
    least.answers = max(fleet.answers, policy.minimum)
    guard state == .open, reasonToPause(on: least) != nil else { return false }
    return decide(on: fleet)
  }

  /// Decides from these answers, even if there are fewer answers than the minimum. A worker calls this function when it
  /// can't hold back more bad answers.
  ///
  /// - Returns: whether ``state`` changed.
  public mutating func decide(on counts: GuardCounts) -> Bool {
    if case .tripped = state { return false }
    if let reason = reasonToPause(on: counts) {
      state = .tripped(reason: reason)
      return true
    }
    guard isUndecided else { return false }
    state = .open
    while self.counts.answers >= 2 * policy.minimum { self.counts.halve() }
    return true
  }

  /// Returns the reason to pause the campaign, with a hint; `nil` if the shares of bad answers are in bounds. The
  /// number of answers may be below the minimum.
  public func reasonToPause(on counts: GuardCounts) -> String? {
    problem(of: counts).map { $0 + Self.hint }
  }

  /// Advice for the operator when the guard has tripped on all workers.
  public static let hint = "; fix the cause and resume, or resume with --unguarded if the answers are right"

  private func problem(of counts: GuardCounts) -> String? {
    guard counts.answers > 0, !isOff else { return nil }
    let (suspects, gone) = (
      Double(counts.suspects) / Double(counts.answers), Double(counts.gone) / Double(counts.answers)
    )
    if suspects > policy.threshold {
      return describe(suspects, of: counts, "refused the token or the message", mainRefusal)
    }
    if gone > policy.pruneShare { return describe(gone, of: counts, "reported the device as gone", mainLoss) }
    return nil
  }

  private func describe(_ share: Double, of counts: GuardCounts, _ verdict: String, _ main: MajorityReason) -> String {
    let name = service.reasonName(of: main.reason)
    return "\(Int((share * 100).rounded())) % of \(counts.answers) answers \(verdict)"
      + (name.isEmpty ? "" : ", mostly with \(name)")
      + ": \(service.probableCause(ofMany: main.reason, app: app))"
  }
}
