public import PushCore

/// The consequences of a refusal by FCM for the push, its device and the campaign.
extension FCMService {
  /// Shortest delay in milliseconds after a server error. Source: Firebase, "Best practices when sending FCM messages
  /// at scale": senders should wait at least 10 s before a retry.
  static let afterServerError = 10_000
  /// Shortest delay in milliseconds after a gateway error. The HTML page of a 502 asks for 30 s.
  static let afterGatewayError = 30_000

  /// Returns the consequences of a refusal. Only a 4xx with a reason that concerns the token has consequences for the
  /// token.
  ///
  /// Source: Firebase, "FCM Error Codes", "Manage FCM registration tokens", "Best practices when sending FCM messages
  /// at scale".
  public func disposition(
    ofRefusal answer: PushAnswer, attempt: Int, policy: RetryPolicy, jitter: Double, isBreakerOpen: Bool
  ) -> Disposition {
    let reason = FCMReason(answer.reason)
    switch answer.status {
    case 401, 429: break
    case 400..<500 where reason == .unspecifiedError, 500, 501, 503, 505..<600:
      return Self.retry(least: Self.afterServerError, answer, attempt: attempt, policy, jitter)
    case 502, 504: return Self.retry(least: Self.afterGatewayError, answer, attempt: attempt, policy, jitter)
    case 400..<500: break
    // FCM sends no other status. A server between the worker and FCM sent this status, and would refuse every push in
    // the same way.
    default: return .refusedHere(policy, answer.reason, jitter)
    }
    return Self.decide(clientError: answer, reason, attempt: attempt, policy: policy, jitter: jitter)
  }

  public func probableCause(ofMany reason: ReasonCode, app: String) -> String {
    switch FCMReason(reason) {
    case .senderIDMismatch: "probably the wrong project for app \(app)"
    case .invalidToken: "probably the wrong tokens for app \(app)"
    case .unregistered: "probably the wrong devices for app \(app)"
    case .invalidArgument: "probably a wrong message or a wrong restricted_package_name; run carillon lint"
    case .messageTooLarge: "probably a message of more than 4,096 bytes; run carillon lint"
    case .thirdPartyAuthError:
      "probably tokens of Apple devices or browsers, for which the Firebase project of app \(app) has no valid APNs key "
        + "or web push certificate; add the key in the Firebase console, or remove these tokens"
    default: "probably a wrong project for app \(app), or a wrong message; run carillon lint"
    }
  }

  private static func decide(
    clientError answer: PushAnswer, _ reason: FCMReason, attempt: Int, policy: RetryPolicy, jitter: Double
  ) -> Disposition {
    switch (answer.status, reason) {
    case (_, .invalidToken): return Disposition(.finish(.badToken), token: .quarantine)
    // With a wrong project in the configuration, FCM gives this answer for every token, so no token is removed.
    case (_, .senderIDMismatch): return Disposition(.finish(.badToken), token: .quarantine)
    case (404, .unregistered): return Disposition(.finish(.unregistered), token: .prune)
    case (_, .unregistered): return Disposition(.finish(.unregistered), token: .quarantine)
    // The message may be wrong for this device only, because of its package name or its personal content. The guard
    // decides whether it is wrong for the whole campaign.
    case (400, _): return Disposition(.finish(.rejected))
    // The cause is the key for APNs or web push in the Firebase project. All Apple devices or browsers of the project
    // get this answer, and Android devices don't. The guard decides whether the campaign gets too many of these
    // answers.
    case (401, .thirdPartyAuthError): return Disposition(.finish(.rejected))
    // The credential requests a new access token, for which the pushes wait. If FCM refuses the new token too, the
    // credential stops.
    case (401, _): return Disposition(.resendNow, countsAttempt: false)
    // The API is disabled, the account lacks the permission, or the project or the path does not exist.
    case (403, _), (404, _): return .held(policy, answer.reason, jitter)
    case (429, .targetQuotaExceeded):
      return .later(policy.afterTooManyRequests(attempt: attempt, asked: answer.asked, chance: jitter))
    // The quota belongs to the project, and FCM did not process the push.
    case (429, _):
      let delay = policy.afterTooManyRequests(attempt: 1, asked: answer.asked, chance: jitter)
      return Disposition(.retry(afterMilliseconds: delay), effect: answer.exceededQuota, countsAttempt: false)
    // FCM does not document this answer. The guard decides whether the cause concerns the whole campaign.
    default: return Disposition(.finish(.rejected))
    }
  }

  /// Retries the target after an error of a server. The delay grows with each attempt, and is at least the delay of the
  /// answer's `Retry-After`. The retries end after 60 minutes (``FCMPolicies/retries``).
  ///
  /// - Parameter least: shortest delay, in milliseconds.
  private static func retry(
    least: Int, _ answer: PushAnswer, attempt: Int, _ policy: RetryPolicy, _ jitter: Double
  ) -> Disposition {
    .later(policy.afterServerError(attempt: attempt, asked: answer.asked, least: least, chance: jitter))
  }
}
