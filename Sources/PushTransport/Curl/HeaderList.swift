internal import CCurl
internal import PushCore

/// Headers that the pushes of a batch share, in libcurl's form. The list is built once and is the tail of every push's
/// own list.
///
/// libcurl reads a header list until the transfer is done, and neither copies nor changes it (CURLOPT_HTTPHEADER). Any
/// number of transfers may therefore share nodes. Each transfer holds a reference, so this object outlives them.
final class HeaderList {
  /// The request and the authorization from which the list was built. The list is reused as long as both stay the same.
  let request: PushRequest
  let generation: Int
  /// First node.
  let head: UnsafeMutablePointer<curl_slist>

  /// - Returns: `nil` if libcurl is out of memory.
  init?(_ request: PushRequest, authorization: PushAuthorization) {
    var list: UnsafeMutablePointer<curl_slist>?
    for line in Self.lines(request, authorization) {
      // curl_slist_append(3) copies the string and returns the first node. On failure it returns null and leaves the
      // list unchanged.
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

  /// Returns the headers that the service gets, and the names of those that libcurl must not add.
  static func lines(_ request: PushRequest, _ authorization: PushAuthorization) -> [String] {
    var lines = request.lines(authorization).map { "\($0.name): \($0.value)" }
    // A name without a value removes a header that libcurl would add (CURLOPT_HTTPHEADER). The service requires none of
    // these.
    lines += ["accept:", "expect:"]
    if !request.fields.contains(where: { $0.name == "content-type" }) { lines.append("content-type:") }
    return lines
  }

  deinit { curl_slist_free_all(head) }
}
