/// What follows from one attempt to send a push: for the target, for its token, and beyond them.
public struct Disposition: Sendable, Equatable {
  /// What becomes of the target.
  public enum Target: Sendable, Equatable {
    /// It is done.
    case finish(Outcome)
    /// It waits, then is sent again as the next attempt.
    case retry(afterMilliseconds: Int)
    /// It is sent again at once, if possible on another connection.
    case resendNow
  }

  /// What becomes of the device token, subject to the guard.
  public enum TokenFate: Sendable, Equatable {
    case keep
    /// Removed, unless the device registered after the answer's timestamp.
    case prune
    /// Not used any more, kept for review: the fault may be in the configuration.
    case quarantine
  }

  /// What the answer says about more than this target.
  public enum Effect: Sendable, Equatable {
    case none
    /// Every push of the campaign would fail the same way, whoever sends it.
    case pauseCampaign(ReasonCode)
    /// Every push of the campaign would fail the same way here: the fault may be the settings of this worker, or its way
    /// to the service.
    case leaveCampaign(ReasonCode)
    /// Every push with the credential would fail the same way: it stops (``PushService/refusal(of:generation:)``), and
    /// somebody is told.
    case stopCredential(ReasonCode)
  }

  public var target: Target
  public var token: TokenFate
  public var effect: Effect
  /// Whether sending again is a new attempt. A push that was provably not processed costs none.
  public var countsAttempt: Bool

  /// Memberwise.
  public init(_ target: Target, token: TokenFate = .keep, effect: Effect = .none, countsAttempt: Bool = true) {
    self.target = target
    self.token = token
    self.effect = effect
    self.countsAttempt = countsAttempt
  }

  /// Decides. Pure.
  ///
  /// What an answer that refuses a push means is the service's to say; the rest is the same for all.
  ///
  /// - Parameters:
  ///   - answer: what is known of the attempt.
  ///   - attempt: its number, from 1.
  ///   - service: whose answer it is.
  ///   - policy: delays and the number of attempts.
  ///   - ambiguity: what the campaign wants when it is unknown whether the service took the push.
  ///   - jitter: random, 0 to 1; spreads retries.
  ///   - isBreakerOpen: whether the service answers nearly everything with 503: then nothing is gained by a quick retry.
  public static func decide(
    _ answer: PushAnswer, attempt: Int, of service: any PushService, policy: RetryPolicy, ambiguity: Ambiguity,
    jitter: Double, isBreakerOpen: Bool = false
  ) -> Disposition {
    switch answer.kind {
    case .answered:
      if answer.isAccepted { return Disposition(.finish(.accepted)) }
      let decided = service.disposition(
        ofRefusal: answer, attempt: attempt, policy: policy, jitter: jitter, isBreakerOpen: isBreakerOpen)
      return decided.limited(attempt: attempt, policy: policy, exhausted: .failed)
    case .notSent:
      // The connection was refused for its certificate: another would be too.
      if answer.reason != .none { return .held(policy, answer.reason, jitter) }
      return Disposition(.resendNow, countsAttempt: false)
    case .ambiguous:
      let effect = answer.reason == .none ? Effect.none : .stopCredential(answer.reason)
      guard ambiguity == .resend else { return Disposition(.finish(.unknown), effect: effect) }
      // A second doubt in a row means trouble on the way; more of the same at once would only feed it.
      let target: Target =
        attempt <= 1
        ? .resendNow : .retry(afterMilliseconds: policy.afterTooManyRequests(attempt: attempt - 1, chance: jitter))
      return Disposition(target, effect: effect).limited(attempt: attempt, policy: policy, exhausted: .unknown)
    }
  }

  // MARK: What services decide

  /// A server is in trouble (5xx): the target is tried again after a short time once, then after a long one.
  public static func laterAsServerFails(
    _ policy: RetryPolicy, _ answer: PushAnswer, attempt: Int, _ jitter: Double, isBreakerOpen: Bool
  ) -> Disposition {
    if attempt <= 1, !isBreakerOpen { return .later(policy.afterFirstServerError(asked: answer.asked, chance: jitter)) }
    return .later(policy.afterServerError(asked: answer.asked, chance: jitter))
  }

  /// The target is tried again after so many milliseconds.
  public static func later(_ milliseconds: Int) -> Disposition {
    Disposition(.retry(afterMilliseconds: milliseconds))
  }

  /// Every push of the campaign would be refused: its targets are held, not failed, until somebody has mended it.
  public static func refusedForAll(_ policy: RetryPolicy, _ reason: ReasonCode, _ jitter: Double) -> Disposition {
    held(policy, jitter, .pauseCampaign(reason))
  }

  /// Every push of the campaign from here would be refused: its targets are held for workers whose settings are right.
  public static func refusedHere(_ policy: RetryPolicy, _ reason: ReasonCode, _ jitter: Double) -> Disposition {
    held(policy, jitter, .leaveCampaign(reason))
  }

  /// The credential is refused: its targets are held, not failed, until somebody has mended it.
  public static func held(_ policy: RetryPolicy, _ reason: ReasonCode, _ jitter: Double) -> Disposition {
    held(policy, jitter, .stopCredential(reason))
  }

  /// A target that is held waits no longer than the pause of the campaign takes to get round: once it is resumed nothing
  /// speaks against sending.
  private static func held(_ policy: RetryPolicy, _ jitter: Double, _ effect: Effect) -> Disposition {
    Disposition(
      .retry(afterMilliseconds: policy.afterTooManyRequests(attempt: 1, chance: jitter)), effect: effect,
      countsAttempt: false)
  }

  /// This disposition, unless it wants another attempt and none is left.
  private func limited(attempt: Int, policy: RetryPolicy, exhausted: Outcome) -> Disposition {
    guard countsAttempt, attempt >= policy.attempts else { return self }
    if case .finish = target { return self }
    return Disposition(.finish(exhausted), token: token, effect: effect)
  }
}

extension PushAnswer {
  /// Milliseconds that its `Retry-After` asks for.
  public var asked: Int { Int(retryAfter) * 1000 }
}
