/// Consequences of one attempt to send a push: for the target, for its token, and for the campaign, the credential or
/// the quota.
public struct Disposition: Sendable, Equatable {
  /// Decision about the target.
  public enum Target: Sendable, Equatable {
    /// The target is finished.
    case finish(Outcome)
    /// The worker sends the target again after this time, as the next attempt.
    case retry(afterMilliseconds: Int)
    /// The worker sends the target again immediately, if possible on another connection.
    case resendNow
  }

  /// Decision about the device token. The worker carries it out only if the campaign's guard permits it.
  public enum TokenAction: Sendable, Equatable {
    case keep
    /// The token is removed, unless the device registered after the answer's timestamp or, for an answer without a
    /// timestamp, after the push was granted.
    case prune
    /// The token is no longer used but kept for review, because the configuration may be at fault.
    case quarantine
  }

  /// Effect of the answer on more than this target.
  public enum Effect: Sendable, Equatable {
    case none
    /// Every push of the campaign would fail in the same way on every worker.
    case pauseCampaign(ReasonCode)
    /// Every push of the campaign would fail in the same way on this worker. The cause may be the settings of the
    /// worker or its network path to the service.
    case leaveCampaign(ReasonCode)
    /// Every push with the credential would fail in the same way. The credential stops
    /// (``PushService/refusal(of:unknownReason:generation:)``), and an alarm reports it.
    case stopCredential(ReasonCode)
    /// The push exceeded the service's quota (``PushService/quota``). The fleet sends more slowly if this happens
    /// often. `perMinute` is the quota in pushes per minute, if the answer contains it.
    case slowQuota(perMinute: Int?)
  }

  public var target: Target
  public var token: TokenAction
  public var effect: Effect
  /// Number of attempts for which this attempt counts against the limit. 0 if the service has certainly not processed
  /// the push, or if the push is not the cause of the failure. More than 1 if a long delay follows, see
  /// ``RetryPolicy/counted(after:)``.
  public private(set) var countedAttempts: Int

  /// Whether the worker may record the answer only if the campaign's guard permits it: `true` if the answer changes a
  /// device, or fails the target because of its message.
  public var waitsForGuard: Bool { token != .keep || target == .finish(.rejected) }

  /// Creates an instance with these values.
  public init(_ target: Target, token: TokenAction = .keep, effect: Effect = .none, countsAttempt: Bool = true) {
    self.target = target
    self.token = token
    self.effect = effect
    countedAttempts = countsAttempt ? 1 : 0
  }

  /// Whether the attempt counts.
  public var countsAttempt: Bool { countedAttempts > 0 }

  /// Returns the consequences of an attempt. The function does no I/O.
  ///
  /// The push service decides about an answer that refuses a push. All other decisions are the same for all services.
  ///
  /// - Parameters:
  ///   - answer: the result of the attempt.
  ///   - attempt: the number of the attempt, from 1.
  ///   - service: the service that answered.
  ///   - policy: the configured delays and number of attempts; the service's bounds are applied to them.
  ///   - ambiguity: the campaign's choice for a push in doubt: send it again, or finish the target.
  ///   - jitter: random, 0 to 1; spreads retries.
  ///   - isBreakerOpen: whether the circuit breaker is open, because the service answers almost every push with server
  ///     errors. A quick retry would then fail.
  public static func decide(
    _ answer: PushAnswer, attempt: Int, of service: any PushService, policy: RetryPolicy, ambiguity: Ambiguity,
    jitter: Double, isBreakerOpen: Bool = false
  ) -> Disposition {
    let policy = policy.bounded(by: service.retryBounds)
    switch answer.kind {
    case .answered:
      if answer.isAccepted { return Disposition(.finish(.accepted)) }
      let decided = service.disposition(
        ofRefusal: answer, attempt: attempt, policy: policy, jitter: jitter, isBreakerOpen: isBreakerOpen)
      return decided.limited(answer, attempt: attempt, policy: policy, exhausted: .failed)
    case .notSent:
      // The service refused the connection because of the certificate, and would refuse another connection too.
      if answer.reason != .none { return .held(policy, answer.reason, jitter) }
      return Disposition(.resendNow, countsAttempt: false)
    case .ambiguous:
      let effect = answer.reason == .none ? Effect.none : .stopCredential(answer.reason)
      guard ambiguity == .resend else { return Disposition(.finish(.unknown), effect: effect) }
      let delay = policy.afterDoubt(attempt: attempt, chance: jitter)
      let target: Target = delay.map { .retry(afterMilliseconds: $0) } ?? .resendNow
      return Disposition(target, effect: effect).limited(answer, attempt: attempt, policy: policy, exhausted: .unknown)
    }
  }

  // MARK: Decisions for services

  /// Handles a server error (5xx): the first retry follows after a short delay, all further retries after longer ones.
  public static func retryAfterServerError(
    _ policy: RetryPolicy, _ answer: PushAnswer, attempt: Int, _ jitter: Double, isBreakerOpen: Bool
  ) -> Disposition {
    if attempt <= 1, !isBreakerOpen { return .later(policy.afterFirstServerError(asked: answer.asked, chance: jitter)) }
    return .later(policy.afterServerError(attempt: attempt, asked: answer.asked, chance: jitter))
  }

  /// Retries the target after a number of milliseconds.
  public static func later(_ milliseconds: Int) -> Disposition {
    Disposition(.retry(afterMilliseconds: milliseconds))
  }

  /// Handles a refusal that every push of the campaign would get. The targets are held, not failed, until an operator
  /// has fixed the cause.
  public static func refusedForAll(_ policy: RetryPolicy, _ reason: ReasonCode, _ jitter: Double) -> Disposition {
    held(policy, jitter, .pauseCampaign(reason))
  }

  /// Handles a refusal that every push of the campaign from this worker would get. The targets are held for workers
  /// with correct settings.
  public static func refusedHere(_ policy: RetryPolicy, _ reason: ReasonCode, _ jitter: Double) -> Disposition {
    held(policy, jitter, .leaveCampaign(reason))
  }

  /// Handles a refused credential. The targets are held, not failed, until an operator has fixed the cause.
  public static func held(_ policy: RetryPolicy, _ reason: ReasonCode, _ jitter: Double) -> Disposition {
    held(policy, jitter, .stopCredential(reason))
  }

  /// Holds a target for a short time. In this time, a pause of the campaign reaches all workers. When the campaign is
  /// resumed, the target can be sent immediately.
  private static func held(_ policy: RetryPolicy, _ jitter: Double, _ effect: Effect) -> Disposition {
    Disposition(
      .retry(afterMilliseconds: policy.whileHeld(chance: jitter)), effect: effect, countsAttempt: false)
  }

  /// Returns this disposition. If it requires another attempt and no attempt is left, the result finishes the target
  /// with the outcome `exhausted`.
  private func limited(
    _ answer: PushAnswer, attempt: Int, policy: RetryPolicy, exhausted: Outcome
  ) -> Disposition {
    guard countsAttempt else { return self }
    switch target {
    case .finish: return self
    case .retry(let delay):
      if let delay = policy.limited(delay, asked: answer.asked, attempt: attempt) {
        var limited = self
        limited.target = .retry(afterMilliseconds: delay)
        limited.countedAttempts = policy.counted(after: delay)
        return limited
      }
    case .resendNow: if policy.limited(0, asked: 0, attempt: attempt) != nil { return self }
    }
    return Disposition(.finish(exhausted), token: token, effect: effect)
  }
}

extension PushAnswer {
  /// Delay of the answer's `Retry-After` header in milliseconds; 0 without this header.
  public var asked: Int { Int(retryAfter) * 1000 }

  /// Effect of an answer that reports an exceeded quota.
  public var exceededQuota: Disposition.Effect {
    .slowQuota(perMinute: quotaPerMinute > 0 ? Int(quotaPerMinute) : nil)
  }
}
