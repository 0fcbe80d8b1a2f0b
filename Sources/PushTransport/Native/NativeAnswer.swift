internal import EventLoop
internal import HTTP2
internal import PushCore

/// Result of a push whose request has ended.
///
/// A truncated answer does not count, even if its status was 200 or 410: see the module's README, "Truncated answers".
enum NativeAnswer {
  /// - Parameters:
  ///   - ended: the request.
  ///   - wasRefused: whether the connection was ended because of its credential before anything on it was processed.
  ///   - service: reads the answer.
  static func completion(
    _ ended: RequestSession.Ended, wasRefused: Bool, _ service: any PushService
  ) -> PushCompletion {
    // For every service, a 200 without a body means that the push was accepted. Most pushes end in this way.
    if ended.status == 200, ended.body.isEmpty { return PushCompletion(tag: ended.tag, answer: .accepted) }
    guard ended.status >= 200 else {
      let kind: PushAnswer.Kind = wasRefused || isUnprocessed(ended) ? .notSent : .ambiguous
      return PushCompletion(tag: ended.tag, answer: PushAnswer(kind: kind))
    }
    let waits = ended.status == 429 || ended.status >= 500
    return PushCompletion(
      tag: ended.tag,
      service.reply(status: ended.status, body: ended.body, retryAfter: waits ? retryAfter(ended) : 0))
  }

  /// Returns the seconds of the answer's `retry-after`. If the answer has no `date` field, a date in `retry-after` is
  /// relative to this machine's clock.
  private static func retryAfter(_ ended: RequestSession.Ended) -> UInt16 {
    ended.retryAt > 0 ? UInt16(clamping: Int(ended.retryAt) - EventLoop.wallClock / 1000) : ended.retryAfter
  }

  /// Returns whether the service provably did not process the push: it was refused, was above the last stream of a
  /// GOAWAY (both RFC 9113 section 8.7), or was never sent completely.
  static func isUnprocessed(_ ended: RequestSession.Ended) -> Bool { !ended.wasSent || ended.error == .refusedStream }

  /// Returns why a push got no answer, for logs.
  static func lossReason(_ error: HTTP2ErrorCode) -> String {
    switch error {
    case .refusedStream: "the service refused a stream"
    case .cancel: "no answer in time"
    default: "the service reset a stream (error \(error.rawValue))"
    }
  }
}
