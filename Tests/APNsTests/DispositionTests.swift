import APNs
import PushCore
import TestKit
import Testing

@Suite("Disposition of an answer")
struct DispositionTests {
  /// Required reactions to each status and reason according to sections 5.2, 5.3 and 7.4 of the reference. The table is
  /// independent of the code.
  struct Expectation: Sendable, CustomStringConvertible {
    var status: UInt16
    var reason: Reason
    /// Outcome of the target, or the time of its retry.
    var target: Disposition.Target
    var token = Disposition.TokenAction.keep
    /// Consequence for more than this target.
    var effect = Disposition.Effect.none
    /// Whether a retry uses one of the attempts.
    var countsAttempt = true
    var description: String { "\(status) \(reason)" }
  }

  static let policy = RetryPolicy(serverError: 900_000, tooManyRequests: 2_000, attempts: 5)

  static let firstAttempt: [Expectation] = [
    .init(status: 200, reason: .none, target: .finish(.accepted)),
    .init(status: 400, reason: .none, target: .finish(.rejected)),
    .init(status: 400, reason: .other, target: .finish(.rejected)),
    .init(
      status: 400, reason: .badCollapseId, target: .retry(afterMilliseconds: 2_000),
      effect: .pauseCampaign(Reason.badCollapseId.code), countsAttempt: false
    ),
    .init(status: 400, reason: .badDeviceToken, target: .finish(.badToken), token: .quarantine),
    .init(
      status: 400, reason: .badExpirationDate, target: .retry(afterMilliseconds: 2_000),
      effect: .pauseCampaign(Reason.badExpirationDate.code), countsAttempt: false),
    .init(
      status: 400, reason: .badMessageId, target: .retry(afterMilliseconds: 2_000),
      effect: .pauseCampaign(Reason.badMessageId.code), countsAttempt: false),
    .init(
      status: 400, reason: .badPriority, target: .retry(afterMilliseconds: 2_000),
      effect: .pauseCampaign(Reason.badPriority.code), countsAttempt: false),
    .init(
      status: 400, reason: .badTopic, target: .retry(afterMilliseconds: 2_000),
      effect: .leaveCampaign(Reason.badTopic.code), countsAttempt: false),
    .init(status: 400, reason: .deviceTokenNotForTopic, target: .finish(.wrongTopic), token: .quarantine),
    .init(
      status: 400, reason: .duplicateHeaders, target: .retry(afterMilliseconds: 2_000),
      effect: .pauseCampaign(Reason.duplicateHeaders.code), countsAttempt: false),
    .init(status: 400, reason: .idleTimeout, target: .resendNow),
    .init(
      status: 400, reason: .invalidPushType, target: .retry(afterMilliseconds: 2_000),
      effect: .pauseCampaign(Reason.invalidPushType.code), countsAttempt: false),
    .init(
      status: 400, reason: .missingDeviceToken, target: .retry(afterMilliseconds: 2_000),
      effect: .pauseCampaign(Reason.missingDeviceToken.code), countsAttempt: false),
    .init(
      status: 400, reason: .missingTopic, target: .retry(afterMilliseconds: 2_000),
      effect: .leaveCampaign(Reason.missingTopic.code), countsAttempt: false),
    .init(
      status: 400, reason: .payloadEmpty, target: .retry(afterMilliseconds: 2_000),
      effect: .pauseCampaign(Reason.payloadEmpty.code), countsAttempt: false),
    .init(
      status: 400, reason: .topicDisallowed, target: .retry(afterMilliseconds: 2_000),
      effect: .leaveCampaign(Reason.topicDisallowed.code), countsAttempt: false),
    .init(
      status: 403, reason: .badCertificate, target: .retry(afterMilliseconds: 2_000),
      effect: .stopCredential(Reason.badCertificate.code), countsAttempt: false),
    .init(
      status: 403, reason: .badCertificateEnvironment, target: .retry(afterMilliseconds: 2_000),
      effect: .stopCredential(Reason.badCertificateEnvironment.code), countsAttempt: false),
    .init(status: 403, reason: .expiredProviderToken, target: .resendNow),
    .init(
      status: 403, reason: .forbidden, target: .retry(afterMilliseconds: 2_000),
      effect: .stopCredential(Reason.forbidden.code), countsAttempt: false),
    .init(
      status: 403, reason: .invalidProviderToken, target: .retry(afterMilliseconds: 2_000),
      effect: .stopCredential(Reason.invalidProviderToken.code), countsAttempt: false),
    .init(
      status: 403, reason: .missingProviderToken, target: .retry(afterMilliseconds: 2_000),
      effect: .stopCredential(Reason.missingProviderToken.code), countsAttempt: false),
    .init(status: 403, reason: .unrelatedKeyIdInToken, target: .resendNow),
    .init(
      status: 403, reason: .badEnvironmentKeyIdInToken, target: .retry(afterMilliseconds: 2_000),
      effect: .stopCredential(Reason.badEnvironmentKeyIdInToken.code), countsAttempt: false),
    .init(
      status: 404, reason: .badPath, target: .retry(afterMilliseconds: 2_000),
      effect: .leaveCampaign(Reason.badPath.code), countsAttempt: false),
    .init(
      status: 405, reason: .methodNotAllowed, target: .retry(afterMilliseconds: 2_000),
      effect: .leaveCampaign(Reason.methodNotAllowed.code), countsAttempt: false),
    .init(status: 410, reason: .expiredToken, target: .finish(.expiredToken), token: .prune),
    .init(status: 410, reason: .unregistered, target: .finish(.unregistered), token: .prune),
    .init(
      status: 413, reason: .payloadTooLarge, target: .retry(afterMilliseconds: 2_000),
      effect: .pauseCampaign(Reason.payloadTooLarge.code), countsAttempt: false),
    .init(status: 429, reason: .tooManyProviderTokenUpdates, target: .retry(afterMilliseconds: 900_000)),
    .init(status: 429, reason: .tooManyRequests, target: .retry(afterMilliseconds: 2_000)),
    .init(status: 500, reason: .internalServerError, target: .retry(afterMilliseconds: 5_000)),
    .init(status: 503, reason: .serviceUnavailable, target: .retry(afterMilliseconds: 5_000)),
    .init(status: 503, reason: .shutdown, target: .resendNow),

    // Broadcasts and channels.
    .init(
      status: 400, reason: .featureNotEnabled, target: .retry(afterMilliseconds: 2_000),
      effect: .leaveCampaign(Reason.featureNotEnabled.code), countsAttempt: false),
    .init(
      status: 400, reason: .missingChannelId, target: .retry(afterMilliseconds: 2_000),
      effect: .pauseCampaign(Reason.missingChannelId.code), countsAttempt: false),
    .init(
      status: 400, reason: .badChannelId, target: .retry(afterMilliseconds: 2_000),
      effect: .pauseCampaign(Reason.badChannelId.code), countsAttempt: false),
    .init(
      status: 400, reason: .channelNotRegistered, target: .retry(afterMilliseconds: 2_000),
      effect: .pauseCampaign(Reason.channelNotRegistered.code), countsAttempt: false),
    .init(
      status: 400, reason: .badRequestParams, target: .retry(afterMilliseconds: 2_000),
      effect: .pauseCampaign(Reason.badRequestParams.code), countsAttempt: false),
    .init(
      status: 400, reason: .badRequestPayload, target: .retry(afterMilliseconds: 2_000),
      effect: .pauseCampaign(Reason.badRequestPayload.code), countsAttempt: false),
    .init(
      status: 400, reason: .missingPushType, target: .retry(afterMilliseconds: 2_000),
      effect: .pauseCampaign(Reason.missingPushType.code), countsAttempt: false),
    .init(
      status: 400, reason: .cannotCreateChannelConfig, target: .retry(afterMilliseconds: 2_000),
      effect: .pauseCampaign(Reason.cannotCreateChannelConfig.code), countsAttempt: false),
    .init(
      status: 403, reason: .topicMismatch, target: .retry(afterMilliseconds: 2_000),
      effect: .leaveCampaign(Reason.topicMismatch.code), countsAttempt: false
    ),

    // The body is empty, is not JSON, or has no reason: the status class decides.
    .init(status: 201, reason: .none, target: .finish(.accepted)),
    .init(
      status: 302, reason: .none, target: .retry(afterMilliseconds: 2_000), effect: .leaveCampaign(.none),
      countsAttempt: false),
    .init(
      status: 403, reason: .none, target: .retry(afterMilliseconds: 2_000), effect: .stopCredential(.none),
      countsAttempt: false),
    .init(
      status: 404, reason: .none, target: .retry(afterMilliseconds: 2_000), effect: .leaveCampaign(.none),
      countsAttempt: false),
    .init(
      status: 405, reason: .none, target: .retry(afterMilliseconds: 2_000), effect: .leaveCampaign(.none),
      countsAttempt: false),
    .init(status: 410, reason: .none, target: .finish(.unregistered), token: .prune),
    .init(
      status: 413, reason: .none, target: .retry(afterMilliseconds: 2_000), effect: .pauseCampaign(.none),
      countsAttempt: false),
    .init(status: 418, reason: .none, target: .finish(.rejected)),
    .init(status: 429, reason: .none, target: .retry(afterMilliseconds: 2_000)),
    .init(status: 500, reason: .none, target: .retry(afterMilliseconds: 5_000)),
    .init(status: 503, reason: .none, target: .retry(afterMilliseconds: 5_000)),
    .init(status: 507, reason: .none, target: .retry(afterMilliseconds: 5_000)),

    // A reason that Apple added later.
    .init(
      status: 302, reason: .other, target: .retry(afterMilliseconds: 2_000), effect: .leaveCampaign(.other),
      countsAttempt: false),
    .init(
      status: 403, reason: .other, target: .retry(afterMilliseconds: 2_000), effect: .stopCredential(.other),
      countsAttempt: false),
    .init(status: 410, reason: .other, target: .finish(.unregistered), token: .prune),
    .init(status: 418, reason: .other, target: .finish(.rejected)),
    .init(status: 429, reason: .other, target: .retry(afterMilliseconds: 2_000)),
    .init(status: 500, reason: .other, target: .retry(afterMilliseconds: 5_000)),
    .init(status: 503, reason: .other, target: .retry(afterMilliseconds: 5_000)),
  ]

  private func decide(
    _ status: UInt16, _ reason: Reason = .none, attempt: Int = 1, retryAfter: UInt16 = 0, jitter: Double = 0,
    isBreakerOpen: Bool = false
  ) -> Disposition {
    Disposition.decide(
      PushAnswer(kind: .answered, status: status, reason: reason.code, retryAfter: retryAfter), attempt: attempt,
      of: APNsService(), policy: Self.policy, ambiguity: .resend, jitter: jitter, isBreakerOpen: isBreakerOpen)
  }

  private func decide(_ kind: PushAnswer.Kind, attempt: Int, ambiguity: Ambiguity = .resend) -> Disposition {
    Disposition.decide(
      PushAnswer(kind: kind), attempt: attempt, of: APNsService(), policy: Self.policy, ambiguity: ambiguity, jitter: 0)
  }

  @Test("each reason has its disposition", arguments: firstAttempt)
  func table(_ expected: Expectation) {
    let disposition = decide(expected.status, expected.reason)
    expect(disposition.target, is: expected.target)
    expect(disposition.token, is: expected.token)
    expect(disposition.effect, is: expected.effect)
    expect(disposition.countsAttempt, is: expected.countsAttempt)
  }

  @Test("the table has all reasons")
  func tableIsComplete() {
    expect(Set(Self.firstAttempt.map(\.reason)), is: Set(Reason.allCases))
  }

  @Test("a 5xx with the reason of a 4xx harms neither the token nor the credential")
  func serverErrorsDecideByStatus() {
    for reason in Reason.allCases where reason != .shutdown {
      let disposition = decide(500, reason)
      expect(disposition, is: Disposition(.retry(afterMilliseconds: 5_000)))
    }
  }

  @Test("the first 5xx gets a quick retry, unless the breaker is open; later ones wait as long as Apple requires")
  func quickRetry() {
    let waits = (1...5).map { decide(503, .serviceUnavailable, attempt: $0).target }
    expect(
      waits,
      is: [
        .retry(afterMilliseconds: 5_000), .retry(afterMilliseconds: 900_000), .retry(afterMilliseconds: 900_000),
        .retry(afterMilliseconds: 900_000), .finish(.failed),
      ])
    expect(decide(503, .serviceUnavailable, isBreakerOpen: true).target, is: .retry(afterMilliseconds: 900_000))
    expect(decide(503, .shutdown, isBreakerOpen: true).target, is: .resendNow)
    // If the retry time is already short, the first retry does not wait longer.
    expect(RetryPolicy(serverError: 100, jitter: 0).afterFirstServerError(chance: 0), is: 100)
  }

  @Test("only a 410 prunes")
  func onlyGoneStatusPrunes() {
    expect(decide(400, .unregistered).token, is: .quarantine)
    expect(decide(400, .expiredToken).token, is: .quarantine)
  }

  @Test("the wait after a 429 doubles with each attempt, and after the last attempt the push fails")
  func tooManyRequestsDoubles() {
    let waits = (1...5).map { decide(429, .tooManyRequests, attempt: $0).target }
    expect(
      waits,
      is: [
        .retry(afterMilliseconds: 2_000), .retry(afterMilliseconds: 4_000), .retry(afterMilliseconds: 8_000),
        .retry(afterMilliseconds: 16_000), .finish(.failed),
      ])
  }

  @Test("a longer Retry-After replaces the wait, up to an hour")
  func retryAfter() {
    expect(decide(429, .tooManyRequests, retryAfter: 30).target, is: .retry(afterMilliseconds: 30_000))
    expect(decide(503, .serviceUnavailable, retryAfter: 30).target, is: .retry(afterMilliseconds: 30_000))
    expect(decide(503, .serviceUnavailable, attempt: 2, retryAfter: 30).target, is: .retry(afterMilliseconds: 900_000))
    expect(decide(503, .serviceUnavailable, retryAfter: 65_000).target, is: .retry(afterMilliseconds: 3_600_000))
  }

  @Test("retries get the configured jitter, and no wait exceeds the maximum")
  func jitter() {
    expect(decide(503, .serviceUnavailable, jitter: 1).target, is: .retry(afterMilliseconds: 5_500))
    expect(decide(503, .serviceUnavailable, attempt: 2, jitter: 0.5).target, is: .retry(afterMilliseconds: 945_000))
    expect(decide(429, .tooManyRequests, jitter: 1).target, is: .retry(afterMilliseconds: 2_200))
    var policy = RetryPolicy(serverError: 60_000, tooManyRequests: 2_000, longest: 60_000, jitter: 0.25)
    // At the cap the retries are also spread over time.
    expect(policy.afterServerError(chance: 0), is: 48_000)
    expect(policy.afterServerError(chance: 1), is: 60_000)
    expect(policy.afterTooManyRequests(attempt: 20, chance: 1), is: 60_000)
    // Never earlier than the requested time, unless that time is longer than the cap.
    expect(policy.afterServerError(asked: 59_000, chance: 0), is: 59_000)
    expect(policy.afterTooManyRequests(attempt: 1, asked: 10_000, chance: 1), is: 12_500)
    expect(policy.afterTooManyRequests(attempt: 1, asked: 90_000, chance: 0), is: 60_000)
    policy.jitter = 0
    expect(policy.afterTooManyRequests(attempt: 3, chance: 1), is: 8_000)
  }

  @Test("after a refused connection or provider token, a push is resent immediately, but not without limit")
  func connectionFaults() {
    expect(decide(503, .shutdown, attempt: 2).target, is: .retry(afterMilliseconds: 900_000))
    expect(decide(400, .idleTimeout, attempt: 3).target, is: .retry(afterMilliseconds: 900_000))
    let second = decide(403, .expiredProviderToken, attempt: 2)
    expect(second.effect, is: .stopCredential(Reason.expiredProviderToken.code))
    expect(!second.countsAttempt)
  }

  @Test("targets of a refused credential wait, whatever the number of their attempts")
  func heldTargets() {
    let held = decide(403, .invalidProviderToken, attempt: 99)
    expect(held.target, is: .retry(afterMilliseconds: 2_000))
    expect(!held.countsAttempt)
  }

  @Test("a push that was certainly not sent is sent again without counting an attempt")
  func notSent() {
    expect(decide(.notSent, attempt: 99), is: Disposition(.resendNow, countsAttempt: false))
    // Refused because of the connection's certificate: held after any number of attempts.
    let refused = Disposition.decide(
      PushAnswer(kind: .notSent, reason: Reason.badCertificate.code), attempt: 99, of: APNsService(),
      policy: Self.policy, ambiguity: .skip, jitter: 0
    )
    expect(
      refused,
      is: Disposition(
        .retry(afterMilliseconds: 2_000), effect: .stopCredential(Reason.badCertificate.code), countsAttempt: false))
  }

  @Test("an ambiguous push is handled by the campaign's `ambiguity`; after the last attempt its outcome is unknown")
  func ambiguous() {
    expect(decide(.ambiguous, attempt: 1).target, is: .resendNow)
    expect(decide(.ambiguous, attempt: 2).target, is: .retry(afterMilliseconds: 2_000))
    expect(decide(.ambiguous, attempt: 5).target, is: .finish(.unknown))
    expect(decide(.ambiguous, attempt: 1, ambiguity: .skip).target, is: .finish(.unknown))
    for (ambiguity, target) in [(Ambiguity.resend, Disposition.Target.resendNow), (.skip, .finish(.unknown))] {
      let refused = Disposition.decide(
        PushAnswer(kind: .ambiguous, reason: Reason.badCertificate.code), attempt: 1, of: APNsService(),
        policy: Self.policy, ambiguity: ambiguity,
        jitter: 0)
      expect(refused, is: Disposition(target, effect: .stopCredential(Reason.badCertificate.code)))
    }
  }
}

@Suite("Names of reasons")
struct ReasonNameTests {
  @Test("every name is parsed to its reason", arguments: Reason.allCases.filter { !$0.name.isEmpty })
  func roundTrip(_ reason: Reason) {
    expect(Reason(name: reason.name), is: reason)
  }

  @Test("other spellings of a reason are parsed to the documented reason")
  func variant() {
    expect(Reason(name: "Service Unavailable"), is: .serviceUnavailable)
    expect(Reason(name: "BadEnvironmentKeyInToken"), is: .badEnvironmentKeyIdInToken)
  }

  @Test("any other text is parsed to other, and no text to none")
  func others() {
    expect(Reason(name: "BadDeviceTokem"), is: .other)
    expect(Reason(name: "badDeviceToken"), is: .other)
    expect(Reason(name: ""), is: Reason.none)
  }
}
