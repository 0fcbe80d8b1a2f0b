internal import HTTP2
internal import PushCore

/// What is known of a push whose request has ended. Pure.
///
/// An answer that was cut is none, also when its status was 200 or 410: see the module's README, "Answers that are cut".
enum NativeAnswer {
  /// - Parameters:
  ///   - ended: the request.
  ///   - wasRefused: whether the connection was ended for its credential before anything on it was processed.
  ///   - service: reads the answer.
  static func completion(
    _ ended: RequestSession.Ended, wasRefused: Bool, _ service: any PushService
  ) -> PushCompletion {
    // What every service means by it; most pushes end so.
    if ended.status == 200, ended.body.isEmpty { return PushCompletion(tag: ended.tag, answer: .accepted) }
    guard ended.status >= 200 else {
      let kind: PushAnswer.Kind = wasRefused || isUnprocessed(ended) ? .notSent : .ambiguous
      return PushCompletion(tag: ended.tag, answer: PushAnswer(kind: kind))
    }
    let waits = ended.status == 429 || ended.status >= 500
    return PushCompletion(
      tag: ended.tag,
      service.reply(status: ended.status, body: ended.body, retryAfter: waits ? ended.retryAfter : 0))
  }

  /// Whether the service provably did not process it: refused, above the last stream of a GOAWAY (both RFC 9113 section 8.7), or
  /// never sent in whole.
  static func isUnprocessed(_ ended: RequestSession.Ended) -> Bool { !ended.wasSent || ended.error == .refusedStream }

  /// Why a push got no answer, for logs.
  static func trouble(_ error: HTTP2ErrorCode) -> String {
    switch error {
    case .refusedStream: "the service refused a stream"
    case .cancel: "no answer in time"
    default: "the service reset a stream (error \(error.rawValue))"
    }
  }
}
