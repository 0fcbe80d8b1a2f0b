internal import HTTP2
internal import PushCore

extension RequestSession.GoAway {
  /// Text of the service's GOAWAY, for logs.
  var text: String {
    let text = HeaderText.printable(String(decoding: debugData, as: UTF8.self))
    return
      "the service ended the connection before the first push was accepted (GOAWAY\(text.isEmpty ? "" : ": \(text)"))"
  }
}

extension GoAwayFacts {
  /// - Parameter isEstablished: whether a push was accepted on the connection.
  init(_ goAway: RequestSession.GoAway, on authorization: PushAuthorization, isEstablished: Bool) {
    self.init(
      text: goAway.debugData, isBeforeAnything: goAway.lastStreamID == 0 && goAway.error == .noError,
      isEstablished: isEstablished, hasCertificate: authorization.identity != nil,
      generation: authorization.generation)
  }
}
