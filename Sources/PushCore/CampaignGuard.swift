/// Keeps one wrong setting from erasing the device base: watches what APNs says of a campaign's tokens. Pure.
///
///     probing ── minimum reached, shares in bounds ──► open ── a share passes its bound ──► tripped
///        └────── minimum reached, a share out of bounds ──────────────────────────────────────┘
///
/// While probing, prunes and quarantines are to be held back; once open they are carried out; once tripped they are
/// dropped, and the campaign is to be paused. It never leaves `tripped`: who resumes the campaign starts a new guard.
///
/// The window slides by halving: when twice ``GuardPolicy/minimum`` answers are counted, all counts are halved. So a
/// share is always of the latest `minimum` to `2 × minimum` answers, older ones weighing less, in three integers.
public struct CampaignGuard: Sendable, Equatable {
  /// What is to be done with prunes and quarantines.
  public enum State: Sendable, Equatable {
    /// Hold them back: too few answers to tell.
    case probing
    /// Carry them out.
    case open
    /// Drop them and pause the campaign.
    case tripped(reason: String)
  }

  public private(set) var state = State.probing
  private let policy: GuardPolicy
  private let app: String
  private var answers = 0
  private var suspects = 0
  private var gone = 0

  /// - Parameters:
  ///   - policy: the bounds.
  ///   - app: the app's name, for the reason.
  public init(_ policy: GuardPolicy, app: String) {
    self.policy = policy
    self.app = app
  }

  /// Whether prunes and quarantines are to be held back.
  public var isProbing: Bool {
    if case .probing = state { true } else { false }
  }

  /// Why the campaign is to be paused, if it is.
  public var tripReason: String? {
    if case .tripped(let reason) = state { reason } else { nil }
  }

  /// Takes an answer of APNs into account.
  ///
  /// - Parameter outcome: what it made of its target. Outcomes that are not APNs' word on a token are ignored.
  /// - Returns: whether ``state`` is another now.
  public mutating func count(_ outcome: Outcome) -> Bool {
    switch outcome {
    case .accepted, .rejected: break
    case .badToken, .wrongTopic: suspects += 1
    case .unregistered, .expiredToken: gone += 1
    case .failed, .expired, .unknown, .cancelled: return false
    }
    answers += 1
    guard answers >= policy.minimum else { return false }
    let changed = decide()
    if answers >= 2 * policy.minimum {
      answers /= 2
      suspects /= 2
      gone /= 2
    }
    return changed
  }

  /// Decides on the answers there are, be they fewer than the minimum: where no more can be held back.
  ///
  /// - Returns: whether ``state`` is another now.
  public mutating func decide() -> Bool {
    if case .tripped = state { return false }
    if let reason = objection {
      state = .tripped(reason: reason)
      return true
    }
    guard isProbing else { return false }
    state = .open
    return true
  }

  /// What is wrong with the shares.
  private var objection: String? {
    if share(suspects) > policy.threshold {
      return "\(percent(suspects)) called the token bad or of another topic: looks like the wrong environment or topic "
        + "for app \(app); mend it, or raise guard.threshold if the tokens are bad, then resume"
    }
    if share(gone) > policy.pruneShare {
      return "\(percent(gone)) were 410, device gone: looks like the wrong devices or environment for app \(app); mend "
        + "it, or raise guard.pruneShare if they have gone, then resume"
    }
    return nil
  }

  private func share(_ part: Int) -> Double { answers > 0 ? Double(part) / Double(answers) : 0 }

  private func percent(_ part: Int) -> String { "\(Int((share(part) * 100).rounded())) % of \(answers) answers" }
}
