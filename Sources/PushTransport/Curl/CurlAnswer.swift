internal import CCurl
internal import PushCore

/// Answer of the service to a transfer that libcurl completed.
struct CurlAnswer {
  private let reply: PushReply

  /// - Parameters:
  ///   - transfer: a transfer that ended with CURLE_OK and was not removed yet.
  ///   - service: reads the answer.
  init(_ transfer: CurlTransfer, _ service: any PushService) {
    var status = 0
    // CURLINFO_RESPONSE_CODE requires a long. It is 0 only if no answer was received, which is an error for libcurl.
    if let easy = transfer.easy { _ = carillon_easy_get_long(easy, CURLINFO_RESPONSE_CODE, &status) }
    // libcurl accepts `000` as a status. A status below 200 is not an answer (RFC 9110 section 15).
    guard status >= 200 else {
      reply = PushReply(PushAnswer(kind: .ambiguous))
      return
    }
    let body = transfer.responseBody
    guard status != 200 || !body.isEmpty else {
      // For every service, a 200 without a body means that the push was accepted. Most pushes end in this way.
      reply = PushReply(.accepted)
      return
    }
    var retryAfter: curl_off_t = 0
    if status == 429 || status >= 500, let easy = transfer.easy {
      // CURLINFO_RETRY_AFTER returns seconds, or 0 without the header. libcurl converts a date.
      _ = carillon_easy_get_offset(easy, CURLINFO_RETRY_AFTER, &retryAfter)
    }
    reply = service.reply(
      status: UInt16(clamping: status), body: body, retryAfter: UInt16(clamping: retryAfter))
  }

  func completion(tag: UInt64) -> PushCompletion { PushCompletion(tag: tag, reply) }

  /// Returns the result of a transfer without a complete answer.
  ///
  /// After an error, the result of the push is unknown, except if libcurl has not read the body of the request yet.
  /// libcurl reports REFUSED_STREAM with an error code that it also uses for other errors. The result is also unknown
  /// after a truncated answer, whatever its status: see the module's README, "Truncated answers".
  ///
  /// - Parameter wasRefused: whether the service ended the connection before it processed any push of the connection.
  static func failure(_ transfer: CurlTransfer, wasRefused: Bool = false) -> PushCompletion {
    let kind = transfer.wasRead && !wasRefused ? PushAnswer.Kind.ambiguous : .notSent
    return PushCompletion(tag: transfer.tag, answer: PushAnswer(kind: kind))
  }
}
