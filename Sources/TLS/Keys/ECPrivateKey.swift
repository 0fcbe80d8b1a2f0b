internal import COpenSSL

/// P-256 private key that signs with ES256, such as an Apple `.p8`.
///
/// `@unchecked Sendable` is sound because the key never changes after `init`, and OpenSSL allows the use of an
/// unchanging `EVP_PKEY` from any number of threads (openssl-threads(7)).
public final class ECPrivateKey: @unchecked Sendable {
  private let handle: OpaquePointer

  /// Length of a raw ES256 signature in bytes (RFC 7518 section 3.4).
  public static let signatureLength = 64

  /// Reads a key file.
  ///
  /// - Parameter path: a `.p8` from Apple's developer site: PKCS#8 in PEM, P-256, not encrypted. Its line breaks may be
  ///   missing, see ``SigningKeyText``.
  /// - Throws: ``SigningKeyError``, which names the file.
  public convenience init(contentsOf path: String) throws(SigningKeyError) {
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
  public convenience init(pem: [UInt8], file: String = "the signing key") throws(SigningKeyError) {
    let key: OpaquePointer
    do throws(SigningKeyProblem) {
      key = try SigningKeyText.key(in: pem)
    } catch {
      throw SigningKeyError(file: file, problem: error)
    }
    try self.init(adopting: key, file: file)
  }

  /// Returns a new random key for tests, demonstrations and the simulator.
  public static func generate() throws(SigningKeyError) -> ECPrivateKey {
    let failure = SigningKeyError(file: "a new key", problem: .openSSL("generation failed"))
    guard let context = EVP_PKEY_CTX_new_from_name(nil, "EC", nil) else { throw failure }
    defer { EVP_PKEY_CTX_free(context) }
    var key: OpaquePointer?
    // EVP_PKEY_generate(3): the context must be initialised and have its group first. All three calls return 1 for
    // success.
    guard EVP_PKEY_keygen_init(context) == 1, EVP_PKEY_CTX_set_group_name(context, "P-256") == 1,
      EVP_PKEY_generate(context, &key) == 1, let key
    else {
      ERR_clear_error()
      throw failure
    }
    return try ECPrivateKey(adopting: key, file: "a new key")
  }

  /// Takes ownership of a reference to `key`, and checks that the key is on P-256.
  private init(adopting key: OpaquePointer, file: String) throws(SigningKeyError) {
    handle = key
    var name = [CChar](repeating: 0, count: 64)
    var length = 0
    // EVP_PKEY_get_group_name(3) fails for a key without a group, such as RSA, and writes no more than the given
    // length.
    let hasGroup = EVP_PKEY_get_group_name(key, &name, name.count, &length) == 1
    ERR_clear_error()
    let group = hasGroup ? String(decoding: name.prefix(length).map(UInt8.init(bitPattern:)), as: UTF8.self) : nil
    // From here on, `deinit` frees the key even if this throws, because every property is set.
    guard group == "prime256v1" else { throw SigningKeyError(file: file, problem: .wrongKind(group)) }
  }

  deinit { EVP_PKEY_free(handle) }

  /// Returns an ES256 signature: ECDSA with SHA-256, as the raw 64 bytes r‖s (RFC 7518 section 3.4). The signature
  /// contains a random number, so two calls never return the same signature.
  public func sign(_ message: [UInt8]) throws(SigningKeyError) -> [UInt8] {
    guard let der = derSignature(of: message), let raw = Self.raw(fromDER: der) else {
      ERR_clear_error()
      throw SigningKeyError(file: "the signing key", problem: .openSSL("signing failed"))
    }
    return raw
  }

  /// Key as PKCS#8 in PEM, the contents of a `.p8`.
  public var pem: String {
    Self.text { bio in PEM_write_bio_PKCS8PrivateKey(bio, handle, nil, nil, 0, nil, nil) }
  }

  /// Public key in PEM (`BEGIN PUBLIC KEY`), with which a server verifies signatures.
  public var publicPEM: String {
    Self.text { bio in PEM_write_bio_PUBKEY(bio, handle) }
  }

  private func derSignature(of message: [UInt8]) -> [UInt8]? {
    guard let context = EVP_MD_CTX_new() else { return nil }
    defer { EVP_MD_CTX_free(context) }
    guard EVP_DigestSignInit(context, nil, EVP_sha256(), nil, handle) == 1 else { return nil }
    // A P-256 signature in DER has at most 72 bytes (RFC 3279 section 2.2.3); `count` is the number of used bytes.
    var signature = [UInt8](repeating: 0, count: 80)
    var count = signature.count
    guard EVP_DigestSign(context, &signature, &count, message, message.count) == 1 else { return nil }
    return Array(signature.prefix(count))
  }

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

  private static func text(_ write: (OpaquePointer) -> Int32) -> String {
    // BIO_s_mem(3) grows as needed. BIO_read(3) returns the number of copied bytes, or less than 1 at the end.
    guard let bio = BIO_new(BIO_s_mem()) else { return "" }
    defer { BIO_free(bio) }
    guard write(bio) == 1 else { return "" }
    var bytes = [UInt8](repeating: 0, count: 4096)
    let count = BIO_read(bio, &bytes, Int32(bytes.count))
    return String(decoding: bytes.prefix(Int(max(count, 0))), as: UTF8.self)
  }
}
