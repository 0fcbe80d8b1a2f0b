public import PushCore

extension APNsService {
  /// A known reason decides, whatever 4xx it came with; with an unknown or missing one, and with any other status, the
  /// status class decides. What is neither 2xx, 4xx nor 5xx is not APNs' but somebody's on the way, who does it to every
  /// push. Source: Apple, "Handling notification responses from APNs".
  public func disposition(
    ofRefusal answer: PushAnswer, attempt: Int, policy: RetryPolicy, jitter: Double, isBreakerOpen: Bool
  ) -> Disposition {
    switch answer.status {
    case 400..<500:
      return Self.decide(clientError: answer, attempt: attempt, policy: policy, jitter: jitter)
    case 500..<600:
      // The one server that stops is no reason to wait for the others; a second time, Apple's word holds.
      if Reason(answer.reason) == .shutdown, attempt <= 1 { return Disposition(.resendNow) }
      return .laterAsServerFails(policy, answer, attempt: attempt, jitter, isBreakerOpen: isBreakerOpen)
    default: return .refusedHere(policy, answer.reason, jitter)
    }
  }

  private static func decide(
    clientError answer: PushAnswer, attempt: Int, policy: RetryPolicy, jitter: Double
  ) -> Disposition {
    switch Reason(answer.reason) {
    case .badDeviceToken: return Disposition(.finish(.badToken), token: .quarantine)
    case .deviceTokenNotForTopic: return Disposition(.finish(.wrongTopic), token: .quarantine)
    case .unregistered: return Disposition(.finish(.unregistered), token: answer.status == 410 ? .prune : .quarantine)
    case .expiredToken: return Disposition(.finish(.expiredToken), token: answer.status == 410 ? .prune : .quarantine)

    // What is wrong there is the same for every push of the campaign: the job's headers and payload, or what every
    // worker makes of them.
    case .badCollapseId, .badExpirationDate, .badPriority, .invalidPushType, .payloadEmpty, .payloadTooLarge,
      .missingPushType, .badRequestParams, .badRequestPayload, .missingChannelId, .badChannelId, .channelNotRegistered,
      .cannotCreateChannelConfig, .badMessageId, .missingDeviceToken, .duplicateHeaders:
      return .refusedForAll(policy, answer.reason, jitter)
    // What is wrong there is this worker's topic or credential, or something on its way.
    case .badTopic, .missingTopic, .topicDisallowed, .topicMismatch, .featureNotEnabled, .badPath, .methodNotAllowed:
      return .refusedHere(policy, answer.reason, jitter)

    case .forbidden, .badCertificate, .badCertificateEnvironment, .invalidProviderToken, .missingProviderToken,
      .badEnvironmentKeyIdInToken:
      return .held(policy, answer.reason, jitter)

    // The provider token source measures its clock again and mints once more; a second refusal ends that.
    case .expiredProviderToken: return attempt <= 1 ? Disposition(.resendNow) : .held(policy, answer.reason, jitter)
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
    case 404, 405: .refusedHere(policy, answer.reason, jitter)
    case 413: .refusedForAll(policy, answer.reason, jitter)
    case 410: Disposition(.finish(.unregistered), token: .prune)
    case 429: .later(policy.afterTooManyRequests(attempt: attempt, asked: answer.asked, chance: jitter))
    default: Disposition(.finish(.rejected))
    }
  }
}
