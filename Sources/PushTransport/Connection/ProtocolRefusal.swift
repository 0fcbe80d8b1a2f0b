/// Why a connection is not used: its server did not agree to speak HTTP/2.
///
/// HTTP/2 over TLS begins only when ALPN has settled on `h2` (RFC 9113 section 3.2). Both engines send nothing otherwise:
/// what a server that speaks something else makes of a push can't be known.
struct ProtocolRefusal: Error, Equatable, CustomStringConvertible {
  /// Where it was connected to: the endpoint's URL, or its host and port.
  var place: String
  /// What ALPN settled on; `nil` when the server named nothing, or does not speak TLS.
  var negotiated: String?

  /// - Returns: `nil` when it may be used.
  init?(_ place: String, negotiated: String?) {
    guard negotiated != "h2" else { return nil }
    self.place = place
    self.negotiated = negotiated
  }

  var description: String {
    let answer = negotiated.map { "it chose \(HeaderText.printable($0))" } ?? "it chose no protocol"
    return
      "\(place) did not agree to HTTP/2 by ALPN (\(answer)), so nothing was sent (RFC 9113 section 3.2): check the app's "
      + "endpoint and any proxy on the way there"
  }
}
