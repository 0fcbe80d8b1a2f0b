public import PushCore

extension FCMService {
  /// Reads an answer. An acceptance has a body with the name of the message, which needs no reading: FCM accepted the
  /// push if the status is 2xx.
  public func reply(status: UInt16, body: UnsafeRawBufferPointer, retryAfter: UInt16) -> PushReply {
    if status / 100 == 2 { return PushReply(PushAnswer(kind: .answered, status: status)) }
    let content = ErrorBody(status: status, body)
    return PushReply(
      PushAnswer(
        kind: .answered, status: status, reason: content.reason.code, retryAfter: retryAfter,
        quotaPerMinute: content.quotaPerMinute),
      unknownReason: content.unknownReason)
  }

  /// Returns the consequences of a refusal for its connection and for the credential.
  ///
  /// FCM binds a connection to no project and no credential. A refusal with 4xx shows that the connection works. A 5xx
  /// may come from a server that fails.
  public func meaning(of answer: PushAnswer, generation: Int) -> AnswerMeaning {
    switch answer.status {
    case 401 where FCMReason(answer.reason) != .thirdPartyAuthError:
      AnswerMeaning(blame: .clears, event: .tokenExpired(generation: generation))
    case 400..<500: AnswerMeaning(blame: .clears)
    case 500..<600: AnswerMeaning(blame: .counts)
    default: AnswerMeaning()
    }
  }

  /// Returns `nil`: a GOAWAY of FCM says nothing about the credential.
  public func event(of goAway: GoAwayFacts) -> CredentialEvent? { nil }

  /// Returns `true`: FCM has no status of a single server that stops.
  public func isUnavailable(_ answer: PushAnswer) -> Bool { true }

  /// Returns `false`: a refusal has no effect on the connection, so a doubtful token needs no connection of its own.
  public func blamesToken(_ answer: PushAnswer) -> Bool { false }
}
