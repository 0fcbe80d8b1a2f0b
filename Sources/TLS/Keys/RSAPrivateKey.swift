internal import COpenSSL

/// RSA private key that signs with RS256, such as the key of a Google service account.
///
/// `@unchecked Sendable` is sound because the key never changes after `init`, and OpenSSL allows the use of an
/// unchanging `EVP_PKEY` from any number of threads (openssl-threads(7)).
public final class RSAPrivateKey: @unchecked Sendable {
  /// Smallest size of a key in bits (RFC 7518 section 3.3).
  public static let minimumBits = 2048

  private let handle: OpaquePointer

  /// Reads a key from the bytes of a PEM text: PKCS#8 or PKCS#1, not encrypted. The line breaks of PKCS#8 may be
  /// missing, see ``SigningKeyText``.
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

  /// Returns a new random key for tests and the simulator. It takes some 100 ms.
  public static func generate(bits: Int = minimumBits) throws(SigningKeyError) -> RSAPrivateKey {
    let failure = SigningKeyError(file: "a new key", problem: .openSSL("generation failed"))
    guard let context = EVP_PKEY_CTX_new_from_name(nil, "RSA", nil) else { throw failure }
    defer { EVP_PKEY_CTX_free(context) }
    var key: OpaquePointer?
    // EVP_PKEY_generate(3): the context must be initialised first. EVP_PKEY_CTX_set_rsa_keygen_bits(3) sets the size.
    // All three calls return 1 for success.
    guard EVP_PKEY_keygen_init(context) == 1, EVP_PKEY_CTX_set_rsa_keygen_bits(context, Int32(bits)) == 1,
      EVP_PKEY_generate(context, &key) == 1, let key
    else {
      ERR_clear_error()
      throw failure
    }
    return try RSAPrivateKey(adopting: key, file: "a new key")
  }

  /// Takes ownership of a reference to `key`, and checks that the key is an RSA key of sufficient size.
  private init(adopting key: OpaquePointer, file: String) throws(SigningKeyError) {
    handle = key
    // From here on, `deinit` frees the key even if this throws, because every property is set. EVP_PKEY_is_a(3) returns
    // 1 for a key of this type. A key that is restricted to RSA-PSS has another type.
    guard EVP_PKEY_is_a(key, "RSA") == 1 else { throw SigningKeyError(file: file, problem: .notRSA) }
    // EVP_PKEY_get_bits(3) returns the size of the modulus.
    let bits = Int(EVP_PKEY_get_bits(key))
    guard bits >= Self.minimumBits else { throw SigningKeyError(file: file, problem: .tooShort(bits: bits)) }
  }

  deinit { EVP_PKEY_free(handle) }

  /// Returns an RS256 signature: RSASSA-PKCS1-v1_5 with SHA-256 (RFC 7518 section 3.3). The signature has as many bytes
  /// as the modulus. Calls with the same message return the same signature.
  public func sign(_ message: [UInt8]) throws(SigningKeyError) -> [UInt8] {
    guard let signature = signature(of: message) else {
      ERR_clear_error()
      throw SigningKeyError(file: "the signing key", problem: .openSSL("signing failed"))
    }
    return signature
  }

  /// Key as PKCS#8 in PEM, the form in a service account's JSON key. It is empty if OpenSSL is out of memory.
  public var pem: String {
    (try? PEM.writing { bio in PEM_write_bio_PKCS8PrivateKey(bio, handle, nil, nil, 0, nil, nil) }) ?? ""
  }

  /// Public key in PEM (`BEGIN PUBLIC KEY`), with which a server verifies signatures. It is empty if OpenSSL is out of
  /// memory.
  public var publicPEM: String {
    (try? PEM.writing { bio in PEM_write_bio_PUBKEY(bio, handle) }) ?? ""
  }

  private func signature(of message: [UInt8]) -> [UInt8]? {
    guard let context = EVP_MD_CTX_new() else { return nil }
    defer { EVP_MD_CTX_free(context) }
    // EVP_PKEY_CTX_set_rsa_padding(3): PKCS#1 v1.5 is the default padding of an RSA key.
    guard EVP_DigestSignInit(context, nil, EVP_sha256(), nil, handle) == 1 else { return nil }
    var count = 0
    // EVP_DigestSign(3): without a buffer it only sets `count` to the greatest size of a signature.
    guard EVP_DigestSign(context, nil, &count, message, message.count) == 1 else { return nil }
    var signature = [UInt8](repeating: 0, count: count)
    // The second call takes the size of the buffer and sets the number of bytes that it wrote.
    guard EVP_DigestSign(context, &signature, &count, message, message.count) == 1 else { return nil }
    return Array(signature.prefix(count))
  }
}
