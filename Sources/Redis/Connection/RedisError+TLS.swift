import TLS

/// Errors of TLS, with hints about certificates.
extension RedisError {
  /// Alerts about the certificate of their receiver (RFC 8446 section 6.2): bad, unsupported, revoked, expired,
  /// unknown, of an unknown authority, missing, and access denied.
  private static let certificateAlerts: Set<UInt8> = [42, 43, 44, 45, 46, 48, 49, 116]

  /// Creates the error for a TLS failure, with a hint for the operator.
  ///
  /// - Parameters:
  ///   - error: the error of the handshake, or a later alert.
  ///   - name: the name that the server's certificate must contain.
  ///   - endpoint: `host:port`.
  init(tls error: TLSError, with name: String, endpoint: String) {
    switch error.certificateProblem {
    case .otherName?:
      self.init(
        .untrusted, "the server's certificate is not for \(name): \(error.reason)", endpoint: endpoint,
        hint: "Connect with a name in the certificate, or set tls.serverName to such a name.")
      return
    case .outOfDate?:
      self.init(
        .untrusted, "the server's certificate is not valid at this time: \(error.reason)", endpoint: endpoint,
        hint: "Renew it on the server, or correct the clock of this machine.")
      return
    case .untrusted?:
      self.init(
        .untrusted, "the server's certificate is not trusted: \(error.reason)", endpoint: endpoint,
        hint: "Set tls.trustRoots to a PEM file with the certificate of its issuer.")
      return
    case nil: break
    }
    guard let alert = error.alert else {
      self.init(.protocolViolation, "no TLS: \(error)", endpoint: endpoint, hint: Hint.speaksTLS)
      return
    }
    if Self.certificateAlerts.contains(alert) {
      self.init(
        .untrusted, "the server does not accept this client's certificate: \(error.reason)", endpoint: endpoint,
        hint:
          "Set tls.certificate to a certificate that the server trusts, and tls.key to its key. See the server's log."
      )
    } else {
      self.init(
        .closed, "the server ended TLS: \(error)", endpoint: endpoint,
        hint: "Check the server's log, and which TLS versions it allows (tls-protocols).")
    }
  }
}
