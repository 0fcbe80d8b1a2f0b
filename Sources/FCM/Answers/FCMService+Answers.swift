public import PushCore

/// Reading of the answers of FCM, and their meaning for the connection, the credential and the circuit breaker.
extension FCMService {
  /// Reads an answer. A status of 2xx means that FCM has accepted the push. In this case, the body contains only the
  /// name of the message and is not read.
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
  /// FCM does not bind a connection to a project or a credential. A refusal with 4xx shows that the connection works. A
  /// 5xx may come from a server that fails.
  public func meaning(of answer: PushAnswer, generation: Int) -> AnswerMeaning {
    switch answer.status {
    case 401 where FCMReason(answer.reason) != .thirdPartyAuthError:
      AnswerMeaning(blame: .clears, event: .tokenExpired(generation: generation))
    case 400..<500: AnswerMeaning(blame: .clears)
    case 500..<600: AnswerMeaning(blame: .counts)
    default: AnswerMeaning()
    }
  }

  /// Returns `nil`, because the end of a connection to FCM does not concern the credential.
  public func event(of goAway: GoAwayFacts) -> CredentialEvent? { nil }

  /// Returns whether FCM accepts no pushes, or Google's front end can't reach FCM (502 or 504). A 500 does not count,
  /// because the push itself may be its cause.
  public func isUnavailable(_ answer: PushAnswer) -> Bool { (502...504).contains(answer.status) }

  /// Returns `false`: a refusal has no effect on the connection, so a doubtful token needs no separate connection.
  public func blamesToken(_ answer: PushAnswer) -> Bool { false }
}
