internal import HTTP2
internal import PushCore

extension RequestSession.GoAway {
  /// What APNs said when it took no more, for logs.
  var text: String {
    let said = HeaderText.printable(String(decoding: debugData, as: UTF8.self))
    return "APNs ended the connection before the first push was accepted (GOAWAY\(said.isEmpty ? "" : ": \(said)"))"
  }
}

extension CredentialEvent {
  /// What a GOAWAY says of the credential that its connection was opened with; `nil` for nothing.
  ///
  /// - Parameter isEstablished: whether a push was accepted on the connection.
  init?(_ goAway: RequestSession.GoAway, on authorization: PushAuthorization, isEstablished: Bool) {
    let generation = authorization.generation
    let isCertificate = authorization.identity != nil
    let reason = goAway.debugData.withUnsafeBytes { ResponseBody($0).reason }
    switch reason {
    case .badCertificate, .badCertificateEnvironment:
      guard isCertificate else { return nil }
      self = .refused(reason, generation: generation)
    case .expiredProviderToken: self = .tokenExpired(generation: generation)
    case .tooManyProviderTokenUpdates: self = .tooManyTokens(generation: generation)
    case .none, .other:
      // As APNs does with certificates of the other environment, and a server that shuts down.
      guard isCertificate, !isEstablished, goAway.lastStreamID == 0, goAway.error == .noError else { return nil }
      self = .turnedAway(generation: generation)
    default: return nil
    }
  }
}
