internal import COpenSSL

/// RSA private key that signs with RS256, such as the key of a Google service account.
public struct RSAPrivateKey: Sendable {
  /// Smallest size of a key in bits (RFC 7518 section 3.3).
  public static let minimumBits = 2048

  private let key: OpenSSLKey

  /// Reads a key from the bytes of a PEM text: PKCS#8 or PKCS#1, not encrypted. The line breaks of PKCS#8 may be
  /// missing, see ``SigningKeyText``.
  ///
  /// - Parameter file: the file name in errors.
  public init(pem: [UInt8], file: String = "the signing key") throws(SigningKeyError) {
    try self.init(OpenSSLKey(pem: pem, file: file), file: file)
  }

  /// Returns a new random key for tests and the simulator. It takes some 100 ms.
  public static func generate(bits: Int = minimumBits) throws(SigningKeyError) -> RSAPrivateKey {
    // EVP_PKEY_CTX_set_rsa_keygen_bits(3) sets the size.
    let key = try OpenSSLKey.generate("RSA") { EVP_PKEY_CTX_set_rsa_keygen_bits($0, Int32(bits)) }
    return try RSAPrivateKey(key, file: "a new key")
  }

  /// Checks that the key is an RSA key of sufficient size.
  private init(_ key: OpenSSLKey, file: String) throws(SigningKeyError) {
    self.key = key
    guard key.isRSA else { throw SigningKeyError(file: file, problem: .notRSA) }
    // EVP_PKEY_get_bits(3) returns the size of the modulus.
    let bits = Int(EVP_PKEY_get_bits(key.handle))
    guard bits >= Self.minimumBits else { throw SigningKeyError(file: file, problem: .tooShort(bits: bits)) }
  }

  /// Returns an RS256 signature: RSASSA-PKCS1-v1_5 with SHA-256 (RFC 7518 section 3.3). The signature has as many bytes
  /// as the modulus. Calls with the same message return the same signature.
  public func sign(_ message: [UInt8]) throws(SigningKeyError) -> [UInt8] { try key.sign(message) }

  /// Key as PKCS#8 in PEM, the form in a service account's JSON key. It is empty if OpenSSL is out of memory.
  public var pem: String { key.pem }

  /// Public key in PEM (`BEGIN PUBLIC KEY`), with which a server verifies signatures. It is empty if OpenSSL is out of
  /// memory.
  public var publicPEM: String { key.publicPEM }
}
