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
    /// Every push of the campaign would fail the same way.
    case pauseCampaign(Reason)
    /// Every push with the credential would fail the same way: whoever uses it stops, and somebody is told.
    case stopCredential(Reason)
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
  /// A known reason decides, whatever 4xx it came with; with an unknown or missing one, and with any other status, the
  /// status class decides. What is neither 2xx, 4xx nor 5xx is not APNs' but somebody's on the way, who does it to every
  /// push. Source: Apple, "Handling notification responses from APNs".
  ///
  /// - Parameters:
  ///   - answer: what is known of the attempt.
  ///   - attempt: its number, from 1.
  ///   - policy: delays and the number of attempts.
  ///   - ambiguity: what the campaign wants when it is unknown whether APNs took the push.
  ///   - jitter: random, 0 to 1; spreads retries.
  ///   - isBreakerOpen: whether APNs answers nearly everything with 503: then nothing is gained by a quick retry.
  public static func decide(
    _ answer: PushAnswer, attempt: Int, policy: RetryPolicy, ambiguity: Ambiguity, jitter: Double,
    isBreakerOpen: Bool = false
  ) -> Disposition {
    switch answer.kind {
    case .answered:
      if answer.status / 100 == 2 { return Disposition(.finish(.accepted)) }
      let decided = Self.decide(
        rejection: answer, attempt: attempt, policy: policy, jitter: jitter, isBreakerOpen: isBreakerOpen)
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

  private static func decide(
    rejection answer: PushAnswer, attempt: Int, policy: RetryPolicy, jitter: Double, isBreakerOpen: Bool
  ) -> Disposition {
    switch answer.status {
    case 400..<500:
      return decide(clientError: answer, attempt: attempt, policy: policy, jitter: jitter)
    case 500..<600:
      // The one server that stops is no reason to wait for the others; a second time, Apple's word holds.
      if answer.reason == .shutdown, attempt <= 1 { return Disposition(.resendNow) }
      if attempt <= 1, !isBreakerOpen {
        return .later(policy.afterFirstServerError(asked: answer.asked, chance: jitter))
      }
      return .later(policy.afterServerError(asked: answer.asked, chance: jitter))
    default: return .refusedForAll(answer.reason)
    }
  }

  private static func decide(
    clientError answer: PushAnswer, attempt: Int, policy: RetryPolicy, jitter: Double
  ) -> Disposition {
    let reason = answer.reason
    switch reason {
    case .badDeviceToken: return Disposition(.finish(.badToken), token: .quarantine)
    case .deviceTokenNotForTopic: return Disposition(.finish(.wrongTopic), token: .quarantine)
    case .unregistered: return Disposition(.finish(.unregistered), token: answer.status == 410 ? .prune : .quarantine)
    case .expiredToken: return Disposition(.finish(.expiredToken), token: answer.status == 410 ? .prune : .quarantine)

    // What is wrong there is the same for every push of the campaign: the job's headers and payload, what we make of
    // them, or something on the way.
    case .badCollapseId, .badExpirationDate, .badPriority, .badTopic, .invalidPushType, .missingTopic, .payloadEmpty,
      .payloadTooLarge, .topicDisallowed, .missingPushType, .badRequestParams, .badRequestPayload, .missingChannelId,
      .badChannelId, .channelNotRegistered, .cannotCreateChannelConfig, .featureNotEnabled, .topicMismatch,
      .badMessageId, .missingDeviceToken, .duplicateHeaders, .badPath, .methodNotAllowed:
      return .refusedForAll(reason)

    case .forbidden: return Disposition(.finish(.rejected), effect: .stopCredential(reason))
    case .badCertificate, .badCertificateEnvironment, .invalidProviderToken, .missingProviderToken,
      .badEnvironmentKeyIdInToken:
      return .held(policy, reason, jitter)

    // The provider token source measures its clock again and mints once more; a second refusal ends that.
    case .expiredProviderToken: return attempt <= 1 ? Disposition(.resendNow) : .held(policy, reason, jitter)
    // The connection is at fault; its engine replaces it.
    case .idleTimeout, .unrelatedKeyIdInToken:
      return attempt <= 2
        ? Disposition(.resendNow) : .later(policy.afterServerError(asked: answer.asked, chance: jitter))

    case .tooManyRequests:
      return .later(policy.afterTooManyRequests(attempt: attempt, asked: answer.asked, chance: jitter))
    // Concerns the credential, not the device: waiting two seconds would change nothing.
    case .tooManyProviderTokenUpdates: return .later(policy.afterServerError(asked: answer.asked, chance: jitter))

    case .none, .other, .internalServerError, .serviceUnavailable, .shutdown:
      return decide(unexplained: answer, attempt: attempt, policy: policy, jitter: jitter)
    }
  }

  private static func decide(
    unexplained answer: PushAnswer, attempt: Int, policy: RetryPolicy, jitter: Double
  ) -> Disposition {
    switch answer.status {
    case 403: .held(policy, answer.reason, jitter)
    // BadPath, MethodNotAllowed and PayloadTooLarge are the only reasons of their statuses.
    case 404, 405, 413: .refusedForAll(answer.reason)
    case 410: Disposition(.finish(.unregistered), token: .prune)
    case 429: .later(policy.afterTooManyRequests(attempt: attempt, asked: answer.asked, chance: jitter))
    default: Disposition(.finish(.rejected))
    }
  }

  private static func later(_ milliseconds: Int) -> Disposition {
    Disposition(.retry(afterMilliseconds: milliseconds))
  }

  /// Every push of the campaign would be refused: somebody has to mend it before more are sent.
  private static func refusedForAll(_ reason: Reason) -> Disposition {
    Disposition(.finish(.rejected), effect: .pauseCampaign(reason))
  }

  /// The credential is refused: its targets are held, not failed, until somebody has mended it. They wait no longer than
  /// the pause of the campaign takes to get round: once it is resumed nothing speaks against sending.
  private static func held(_ policy: RetryPolicy, _ reason: Reason, _ jitter: Double) -> Disposition {
    Disposition(
      .retry(afterMilliseconds: policy.afterTooManyRequests(attempt: 1, chance: jitter)),
      effect: .stopCredential(reason), countsAttempt: false)
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
  fileprivate var asked: Int { Int(retryAfter) * 1000 }
}
