public import PushCore

/// The consequences of a refusal by APNs for the push, its device and the campaign.
extension APNsService {
  /// Returns the consequences of a refusal. For a 4xx with a known reason, the reason decides, independent of the exact
  /// status. Otherwise, the status decides. APNs sends only 2xx, 4xx and 5xx. Any other status comes from a server
  /// between the worker and APNs, and this server would refuse every push in the same way. Source: Apple, "Handling
  /// notification responses from APNs".
  public func disposition(
    ofRefusal answer: PushAnswer, attempt: Int, policy: RetryPolicy, jitter: Double, isBreakerOpen: Bool
  ) -> Disposition {
    switch answer.status {
    case 400..<500:
      return Self.decide(clientError: answer, attempt: attempt, policy: policy, jitter: jitter)
    case 500..<600:
      // If one server stops, other servers still work, so the push is sent again immediately. After the second such
      // answer, Apple's waiting time applies.
      if Reason(answer.reason) == .shutdown, attempt <= 1 { return Disposition(.resendNow) }
      return .retryAfterServerError(policy, answer, attempt: attempt, jitter, isBreakerOpen: isBreakerOpen)
    default: return .refusedHere(policy, answer.reason, jitter)
    }
  }

  public func probableCause(ofMany reason: ReasonCode, app: String) -> String {
    switch Reason(reason) {
    case .badDeviceToken, .deviceTokenNotForTopic:
      "probably the wrong environment for app \(app), or the wrong topic"
    case .unregistered, .expiredToken: "probably the wrong devices or environment for app \(app)"
    // A worker that decides from the answers that other workers counted does not know their reason.
    default:
      "probably the wrong environment for app \(app), a wrong topic, or wrong content of the job; run carillon lint"
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

    // The error is the same for every push of the campaign. The cause is the job's headers or payload, or the request
    // that every worker builds from them.
    case .badCollapseId, .badExpirationDate, .badPriority, .invalidPushType, .payloadEmpty, .payloadTooLarge,
      .missingPushType, .badRequestParams, .badRequestPayload, .missingChannelId, .badChannelId, .channelNotRegistered,
      .cannotCreateChannelConfig, .badMessageId, .missingDeviceToken, .duplicateHeaders:
      return .refusedForAll(policy, answer.reason, jitter)
    // The cause is this worker's topic or credential, or a server between the worker and APNs.
    case .badTopic, .missingTopic, .topicDisallowed, .topicMismatch, .featureNotEnabled, .badPath, .methodNotAllowed:
      return .refusedHere(policy, answer.reason, jitter)

    case .forbidden, .badCertificate, .badCertificateEnvironment, .invalidProviderToken, .missingProviderToken,
      .badEnvironmentKeyIdInToken:
      return .held(policy, answer.reason, jitter)

    // The provider token source measures the clock offset again and signs one more token. After a second refusal, the
    // target is held.
    case .expiredProviderToken: return attempt <= 1 ? Disposition(.resendNow) : .held(policy, answer.reason, jitter)
    // The connection is the cause of the error. `ConnectionEngine` replaces it.
    case .idleTimeout, .unrelatedKeyIdInToken:
      return attempt <= 2
        ? Disposition(.resendNow) : .later(policy.afterServerError(asked: answer.asked, chance: jitter))

    case .tooManyRequests:
      return .later(policy.afterTooManyRequests(attempt: attempt, asked: answer.asked, chance: jitter))
    // The limit concerns the credential and not the device, so the short delay for one device (2 s) would change
    // nothing.
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
    // BadPath, MethodNotAllowed and PayloadTooLarge are the only reasons of these statuses.
    case 404, 405: .refusedHere(policy, answer.reason, jitter)
    case 413: .refusedForAll(policy, answer.reason, jitter)
    case 410: Disposition(.finish(.unregistered), token: .prune)
    case 429: .later(policy.afterTooManyRequests(attempt: attempt, asked: answer.asked, chance: jitter))
    default: Disposition(.finish(.rejected))
    }
  }
}
