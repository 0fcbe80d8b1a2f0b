internal import CCurl
internal import PushCore

/// What the service answered to a transfer that libcurl completed.
struct CurlAnswer {
  private let reply: PushReply

  /// - Parameters:
  ///   - transfer: ended with CURLE_OK and not removed yet.
  ///   - service: reads the answer.
  init(_ transfer: CurlTransfer, _ service: any PushService) {
    var status = 0
    // CURLINFO_RESPONSE_CODE wants a long; it is 0 only when no answer was received, which is an error for libcurl.
    if let easy = transfer.easy { _ = carillon_easy_get_long(easy, CURLINFO_RESPONSE_CODE, &status) }
    // libcurl takes `000` for a status; what is less than 200 is no answer (RFC 9110 section 15).
    guard status >= 200 else {
      reply = PushReply(PushAnswer(kind: .ambiguous))
      return
    }
    let body = transfer.responseBody
    guard status != 200 || !body.isEmpty else {
      // What every service means by it; most pushes end so.
      reply = PushReply(.accepted)
      return
    }
    var retryAfter: curl_off_t = 0
    if status == 429 || status >= 500, let easy = transfer.easy {
      // CURLINFO_RETRY_AFTER: seconds, 0 without the header; a date in it is converted.
      _ = carillon_easy_get_offset(easy, CURLINFO_RETRY_AFTER, &retryAfter)
    }
    reply = service.reply(
      status: UInt16(clamping: status), body: body, retryAfter: UInt16(clamping: retryAfter))
  }

  func completion(tag: UInt64) -> PushCompletion { PushCompletion(tag: tag, reply) }

  /// What is known of a transfer that has no complete answer.
  ///
  /// Every error is ambiguous unless libcurl never asked for the body: REFUSED_STREAM too comes as an error that others
  /// share. So is an answer that was cut, whatever its status: see the module's README, "Answers that are cut".
  ///
  /// - Parameter wasRefused: whether the connection was ended before anything on it was processed.
  static func failure(_ transfer: CurlTransfer, wasRefused: Bool = false) -> PushCompletion {
    let kind = transfer.wasRead && !wasRefused ? PushAnswer.Kind.ambiguous : .notSent
    return PushCompletion(tag: transfer.tag, answer: PushAnswer(kind: kind))
  }
}
