internal import CCurl
internal import PushCore

/// The headers that pushes of a batch share, as libcurl wants them: built once, the tail of every push's own list.
///
/// libcurl reads a header list until the transfer is done and neither copies nor changes it (CURLOPT_HTTPHEADER), so
/// any number of transfers may share nodes, as long as this object outlives them: each holds a reference.
final class HeaderList {
  /// What the list was made from; a list is used again as long as both stay the same.
  let request: PushRequest
  let generation: Int
  /// The first node.
  let head: UnsafeMutablePointer<curl_slist>

  /// - Returns: `nil` when libcurl is out of memory.
  init?(_ request: PushRequest, authorization: PushAuthorization) {
    var list: UnsafeMutablePointer<curl_slist>?
    for line in Self.lines(request, authorization) {
      // curl_slist_append(3) copies the string, and returns the first node, or null, leaving the list as it was.
      guard let longer = curl_slist_append(list, line) else {
        curl_slist_free_all(list)
        return nil
      }
      list = longer
    }
    guard let list else { return nil }
    self.request = request
    generation = authorization.generation
    head = list
  }

  /// What the service gets to see, and the names of what it doesn't.
  static func lines(_ request: PushRequest, _ authorization: PushAuthorization) -> [String] {
    var lines = request.lines(authorization).map { "\($0.name): \($0.value)" }
    // A name without a value removes what libcurl would add by itself (CURLOPT_HTTPHEADER): the service asks for none of it.
    lines += ["accept:", "expect:"]
    if !request.fields.contains(where: { $0.name == "content-type" }) { lines.append("content-type:") }
    return lines
  }

  deinit { curl_slist_free_all(head) }
}
