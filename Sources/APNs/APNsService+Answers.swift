public import PushCore

/// Reading of the answers of APNs, and their meaning for the connection, the credential and the circuit breaker.
extension APNsService {
  public func reply(status: UInt16, body: UnsafeRawBufferPointer, retryAfter: UInt16) -> PushReply {
    // If APNs accepts a push, its answer has no body. A proxy may add a body, so the body is not read.
    if status / 100 == 2 { return PushReply(PushAnswer(kind: .answered, status: status)) }
    let content = ResponseBody(body)
    return PushReply(
      PushAnswer(kind: .answered, status: status, reason: content.reason.code, retryAfter: retryAfter),
      timestamp: content.timestamp, unknownReason: content.unknownReason)
  }

  public func meaning(of answer: PushAnswer, generation: Int) -> AnswerMeaning {
    switch Reason(answer.reason) {
    case .expiredProviderToken: AnswerMeaning(blame: .replaces, event: .tokenExpired(generation: generation))
    case .tooManyProviderTokenUpdates: AnswerMeaning(blame: .counts, event: .tooManyTokens(generation: generation))
    // `IdleTimeout`: APNs is about to close the connection. `UnrelatedKeyIdInToken`: APNs has bound the connection to
    // another key.
    case .idleTimeout, .unrelatedKeyIdInToken: AnswerMeaning(blame: .replaces)
    case .shutdown: AnswerMeaning(blame: .counts)
    default: AnswerMeaning()
    }
  }

  public func event(of goAway: GoAwayFacts) -> CredentialEvent? {
    let generation = goAway.generation
    let reason = goAway.text.withUnsafeBytes { ResponseBody($0).reason }
    switch reason {
    case .badCertificate, .badCertificateEnvironment:
      return goAway.hasCertificate ? .refused(reason.code, generation: generation) : nil
    case .expiredProviderToken: return .tokenExpired(generation: generation)
    case .tooManyProviderTokenUpdates: return .tooManyTokens(generation: generation)
    case .none, .other:
      // APNs ends a connection without a reason and before the first push if the certificate is for the other
      // environment. A server that shuts down may do the same, so ``ClientCertificate`` counts such connections.
      guard goAway.hasCertificate, !goAway.isEstablished, goAway.isBeforeAnything else { return nil }
      return .turnedAway(generation: generation)
    default: return nil
    }
  }

  /// Returns whether the answer means that the service is unavailable. A 503 with the reason `Shutdown` concerns one
  /// server that stops. A 503 with `ServiceUnavailable`, or without a reason, concerns the whole service.
  public func isUnavailable(_ answer: PushAnswer) -> Bool {
    answer.status == 503 && Reason(answer.reason) != .shutdown
  }

  /// Returns whether the token causes the error, so that APNs may limit the connection. APNs does not limit a
  /// connection after a 410.
  public func blamesToken(_ answer: PushAnswer) -> Bool {
    guard answer.kind == .answered, answer.status / 100 == 4 else { return false }
    switch Reason(answer.reason) {
    case .badDeviceToken, .deviceTokenNotForTopic, .tooManyRequests: return true
    default: return false
    }
  }
}
