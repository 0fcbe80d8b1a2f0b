/// RSA public key that verifies RS256 signatures (RFC 7518 section 3.3).
public struct RSAPublicKey: Sendable {
  private let key: OpenSSLKey

  /// - Parameter pem: a public key (`BEGIN PUBLIC KEY`), or a private key whose public key is used.
  /// - Throws: ``TLSError`` if the text contains no key, or a key of another type.
  public init(pem: String) throws {
    key = try OpenSSLKey(pem: pem)
    guard key.isRSA else { throw TLSError(operation: "read public key", reason: "not an RSA key") }
  }

  /// Returns whether `signature` is an RS256 signature over `data`.
  public func verify(signature: [UInt8], of data: [UInt8]) -> Bool { key.verify(signature, of: data) }
}
