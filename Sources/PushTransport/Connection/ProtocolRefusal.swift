/// Reason why a connection is not used: its server did not agree to HTTP/2.
///
/// HTTP/2 over TLS requires that ALPN selects `h2` (RFC 9113 section 3.2). Otherwise both engines send nothing, because
/// a server for another protocol may handle a push in an unexpected way.
struct ProtocolRefusal: Error, Equatable, CustomStringConvertible {
  /// Place of the connection: the endpoint's URL, or its host and port.
  var place: String
  /// Protocol that ALPN selected; `nil` if the server named none, or does not speak TLS.
  var negotiated: String?

  /// - Returns: `nil` if the connection may be used.
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
