internal import COpenSSL

/// P-256 private key that signs with ES256, such as an Apple `.p8`.
public struct ECPrivateKey: Sendable {
  private let key: OpenSSLKey

  /// Length of a raw ES256 signature in bytes (RFC 7518 section 3.4).
  public static let signatureLength = 64
  /// Name of P-256 in OpenSSL.
  static let group = "prime256v1"

  /// Reads a key file.
  ///
  /// - Parameter path: a `.p8` from Apple's developer site: PKCS#8 in PEM, P-256, not encrypted. Its line breaks may be
  ///   missing, see ``SigningKeyText``.
  /// - Throws: ``SigningKeyError``, which names the file.
  public init(contentsOf path: String) throws(SigningKeyError) {
    let bytes: [UInt8]
    do throws(SecretFileError) {
      bytes = try SecretFile.read(path)
    } catch {
      throw SigningKeyError(file: path, problem: .file(error.problem))
    }
    try self.init(pem: bytes, file: path)
  }

  /// Reads a key from the bytes of a PEM file.
  ///
  /// - Parameter file: the file name in errors.
  public init(pem: [UInt8], file: String = "the signing key") throws(SigningKeyError) {
    try self.init(OpenSSLKey(pem: pem, file: file), file: file)
  }

  /// Returns a new random key for tests, demonstrations and the simulator.
  public static func generate() throws(SigningKeyError) -> ECPrivateKey {
    let key = try OpenSSLKey.generate("EC") { EVP_PKEY_CTX_set_group_name($0, group) }
    return try ECPrivateKey(key, file: "a new key")
  }

  /// Checks that the key is on P-256.
  private init(_ key: OpenSSLKey, file: String) throws(SigningKeyError) {
    self.key = key
    let group = key.group
    guard group == Self.group else { throw SigningKeyError(file: file, problem: .wrongKind(group)) }
  }

  /// Returns an ES256 signature: ECDSA with SHA-256, as the raw 64 bytes r‖s (RFC 7518 section 3.4). The signature
  /// contains a random number, so two calls never return the same signature.
  public func sign(_ message: [UInt8]) throws(SigningKeyError) -> [UInt8] {
    guard let raw = Self.raw(fromDER: try key.sign(message)) else {
      ERR_clear_error()
      throw SigningKeyError(file: "the signing key", problem: .openSSL("signing failed"))
    }
    return raw
  }

  /// Key as PKCS#8 in PEM, the contents of a `.p8`. It is empty if OpenSSL is out of memory.
  public var pem: String { key.pem }

  /// Public key in PEM (`BEGIN PUBLIC KEY`), with which a server verifies signatures. It is empty if OpenSSL is out of
  /// memory.
  public var publicPEM: String { key.publicPEM }

  private static func raw(fromDER der: [UInt8]) -> [UInt8]? {
    der.withUnsafeBufferPointer { bytes -> [UInt8]? in
      var place = bytes.baseAddress
      guard let signature = d2i_ECDSA_SIG(nil, &place, bytes.count) else { return nil }
      defer { ECDSA_SIG_free(signature) }
      var raw = [UInt8](repeating: 0, count: signatureLength)
      // ECDSA_SIG_get0_r(3) returns pointers to the numbers. BN_bn2binpad(3) fills with zeros in front and returns the
      // requested length.
      let filled = raw.withUnsafeMutableBufferPointer { buffer -> Bool in
        guard let start = buffer.baseAddress else { return false }
        return BN_bn2binpad(ECDSA_SIG_get0_r(signature), start, 32) == 32
          && BN_bn2binpad(ECDSA_SIG_get0_s(signature), start + 32, 32) == 32
      }
      return filled ? raw : nil
    }
  }
}
