/// Certificate chain with its private key, as PEM text.
public struct TLSIdentity: Sendable, Equatable {
  /// Leaf certificate, followed by its intermediates.
  public var certificateChainPEM: String
  /// Private key of the leaf, without a passphrase.
  public var privateKeyPEM: String

  /// - Parameters:
  ///   - certificateChainPEM: the leaf certificate, followed by its intermediates.
  ///   - privateKeyPEM: the private key of the leaf, without a passphrase.
  public init(certificateChainPEM: String, privateKeyPEM: String) {
    self.certificateChainPEM = certificateChainPEM
    self.privateKeyPEM = privateKeyPEM
  }
}
