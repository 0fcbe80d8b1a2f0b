internal import CCurl
internal import PushCore

/// What APNs answered to a transfer that libcurl completed.
struct CurlAnswer {
  let answer: PushAnswer
  private var timestamp: UInt64 = 0
  private var unknownReason: String?

  /// - Parameter transfer: ended with CURLE_OK and not removed yet.
  init(_ transfer: CurlTransfer) {
    var status = 0
    // CURLINFO_RESPONSE_CODE wants a long; it is 0 only when no answer was received, which is an error for libcurl.
    if let easy = transfer.easy { _ = carillon_easy_get_long(easy, CURLINFO_RESPONSE_CODE, &status) }
    guard status != 200 else {
      answer = PushAnswer(kind: .answered, status: 200)
      return
    }
    let body = ResponseBody(transfer.responseBody)
    var retryAfter: curl_off_t = 0
    if status == 429 || status >= 500, let easy = transfer.easy {
      // CURLINFO_RETRY_AFTER: seconds, 0 without the header; a date in it is converted.
      _ = carillon_easy_get_offset(easy, CURLINFO_RETRY_AFTER, &retryAfter)
    }
    answer = PushAnswer(
      kind: .answered, status: UInt16(clamping: status), reason: body.reason,
      retryAfter: UInt16(clamping: retryAfter))
    timestamp = body.timestamp
    unknownReason = body.unknownReason
  }

  func completion(tag: UInt64) -> PushCompletion {
    PushCompletion(tag: tag, answer: answer, timestamp: timestamp, unknownReason: unknownReason)
  }

  /// What is known of a transfer that has no complete answer.
  ///
  /// Every error is ambiguous unless libcurl never asked for the body: REFUSED_STREAM too comes as an error that others
  /// share. An acceptance that was received stays one, whatever happened to the stream afterwards.
  ///
  /// - Parameter wasRefused: whether the connection was ended before anything on it was processed.
  static func failure(_ transfer: CurlTransfer, wasRefused: Bool = false) -> PushCompletion {
    var status = 0
    if let easy = transfer.easy { _ = carillon_easy_get_long(easy, CURLINFO_RESPONSE_CODE, &status) }
    if transfer.wasRead, status == 200 {
      return PushCompletion(tag: transfer.tag, answer: PushAnswer(kind: .answered, status: 200))
    }
    let kind = transfer.wasRead && !wasRefused ? PushAnswer.Kind.ambiguous : .notSent
    return PushCompletion(tag: transfer.tag, answer: PushAnswer(kind: kind))
  }
}
