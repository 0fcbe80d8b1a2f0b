internal import CCurl
internal import PushCore

/// The headers that pushes of a batch share, as libcurl wants them: built once, the tail of every push's own list.
///
/// libcurl reads a header list until the transfer is done and neither copies nor changes it (CURLOPT_HTTPHEADER), so
/// any number of transfers may share nodes, as long as this object outlives them: each holds a reference.
final class HeaderList {
  /// What the list was made from; a list is used again as long as both stay the same.
  let headers: PushHeaders
  let generation: Int
  /// The first node.
  let head: UnsafeMutablePointer<curl_slist>

  /// - Returns: `nil` when libcurl is out of memory.
  init?(_ headers: PushHeaders, authorization: PushAuthorization) {
    var list: UnsafeMutablePointer<curl_slist>?
    for line in Self.lines(headers, authorization) {
      // curl_slist_append(3) copies the string, and returns the first node, or null, leaving the list as it was.
      guard let longer = curl_slist_append(list, line) else {
        curl_slist_free_all(list)
        return nil
      }
      list = longer
    }
    guard let list else { return nil }
    self.headers = headers
    generation = authorization.generation
    head = list
  }

  /// What APNs gets to see, and the names of what it doesn't.
  static func lines(_ headers: PushHeaders, _ authorization: PushAuthorization) -> [String] {
    var lines: [String] = []
    if case .token(let token) = authorization { lines.append("authorization: bearer \(token.jwt)") }
    lines += [
      headers.channel.map { "apns-channel-id: \(Self.plain($0))" } ?? "apns-topic: \(Self.plain(headers.topic))",
      "apns-push-type: \(headers.pushType.rawValue)",
      "apns-priority: \(headers.priority)",
    ]
    if let expiration = headers.expiration { lines.append("apns-expiration: \(expiration)") }
    if let collapseID = headers.collapseID { lines.append("apns-collapse-id: \(Self.plain(collapseID))") }
    // A name without a value removes what libcurl would add by itself (CURLOPT_HTTPHEADER): APNs asks for none of it.
    lines += ["content-type:", "accept:", "expect:"]
    return lines
  }

  /// The text without control characters: a line break would begin another header (RFC 9113 section 8.2.1).
  static func plain(_ text: String) -> String {
    String(decoding: text.utf8.filter { $0 >= 0x20 && $0 != 0x7f }, as: UTF8.self)
  }

  deinit { curl_slist_free_all(head) }
}
