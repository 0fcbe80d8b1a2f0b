internal import HTTP2
internal import PushCore

/// What is known of a push whose request has ended. Pure.
enum NativeAnswer {
  /// - Parameters:
  ///   - ended: the request.
  ///   - wasRefused: whether the connection was ended for its credential before anything on it was processed.
  static func completion(_ ended: RequestSession.Ended, wasRefused: Bool) -> PushCompletion {
    if ended.status == 200 { return PushCompletion(tag: ended.tag, answer: PushAnswer(kind: .answered, status: 200)) }
    guard ended.status >= 200 else {
      let kind: PushAnswer.Kind = wasRefused || isUnprocessed(ended) ? .notSent : .ambiguous
      return PushCompletion(tag: ended.tag, answer: PushAnswer(kind: kind))
    }
    let body = ResponseBody(ended.body)
    let waits = ended.status == 429 || ended.status >= 500
    return PushCompletion(
      tag: ended.tag,
      answer: PushAnswer(
        kind: .answered, status: ended.status, reason: body.reason, retryAfter: waits ? ended.retryAfter : 0),
      timestamp: body.timestamp, unknownReason: body.unknownReason)
  }

  /// Whether APNs provably did not process it: refused, above the last stream of a GOAWAY (both RFC 9113 section 8.7), or
  /// never sent in whole.
  static func isUnprocessed(_ ended: RequestSession.Ended) -> Bool { !ended.wasSent || ended.error == .refusedStream }

  /// Why a push got no answer, for logs.
  static func trouble(_ error: HTTP2ErrorCode) -> String {
    switch error {
    case .refusedStream: "APNs refused a stream"
    case .cancel: "no answer in time"
    default: "APNs reset a stream (error \(error.rawValue))"
    }
  }
}
