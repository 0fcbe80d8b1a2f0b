/// A certificate chain with its private key, as PEM text.
public struct TLSIdentity: Sendable, Equatable {
  /// The leaf certificate first, then its intermediates.
  public var certificateChainPEM: String
  /// The leaf's private key, without a passphrase.
  public var privateKeyPEM: String

  /// - Parameters:
  ///   - certificateChainPEM: the leaf certificate first, then its intermediates.
  ///   - privateKeyPEM: the leaf's private key, without a passphrase.
  public init(certificateChainPEM: String, privateKeyPEM: String) {
    self.certificateChainPEM = certificateChainPEM
    self.privateKeyPEM = privateKeyPEM
  }
}
