internal import COpenSSL

/// Key of OpenSSL, with the operations that do not depend on the kind of key. The object owns a reference to the key.
///
/// `@unchecked Sendable` is sound because the key never changes after `init`, and OpenSSL allows the use of an
/// unchanging `EVP_PKEY` from any number of threads (openssl-threads(7)).
final class OpenSSLKey: @unchecked Sendable {
  let handle: OpaquePointer

  /// Takes ownership of a reference.
  init(adopting key: OpaquePointer) { handle = key }

  deinit { EVP_PKEY_free(handle) }

  /// Reads a public key (`BEGIN PUBLIC KEY`), or a private key whose public key is used.
  convenience init(pem: String) throws {
    let isPrivate = pem.contains("PRIVATE KEY")
    self.init(
      adopting: try isPrivate
        ? PEM.privateKey(in: pem)
        : PEM.reading(pem) { bio in
          guard let key = PEM_read_bio_PUBKEY(bio, nil, refusePassphrase, nil) else {
            throw TLSError.last("read public key")
          }
          return key
        })
  }

  /// Reads a private key from the bytes of a PEM text, see ``SigningKeyText``.
  ///
  /// - Parameter file: the file name in errors.
  convenience init(pem: [UInt8], file: String) throws(SigningKeyError) {
    do throws(SigningKeyProblem) {
      self.init(adopting: try SigningKeyText.key(in: pem))
    } catch {
      throw SigningKeyError(file: file, problem: error)
    }
  }

  /// Returns a new random key.
  ///
  /// - Parameters:
  ///   - algorithm: the name of the algorithm: "EC", "RSA".
  ///   - configure: sets the group or the size. Returns 1 for success.
  static func generate(
    _ algorithm: String, _ configure: (OpaquePointer) -> Int32
  ) throws(SigningKeyError) -> OpenSSLKey {
    let failure = SigningKeyError(file: "a new key", problem: .openSSL("generation failed"))
    guard let context = EVP_PKEY_CTX_new_from_name(nil, algorithm, nil) else { throw failure }
    defer { EVP_PKEY_CTX_free(context) }
    var key: OpaquePointer?
    // EVP_PKEY_generate(3): the context must be initialised and configured first. All three calls return 1 for success.
    guard EVP_PKEY_keygen_init(context) == 1, configure(context) == 1, EVP_PKEY_generate(context, &key) == 1, let key
    else {
      ERR_clear_error()
      throw failure
    }
    return OpenSSLKey(adopting: key)
  }

  /// Name of the elliptic curve, such as `prime256v1`; `nil` for a key of another kind.
  var group: String? {
    var name = [CChar](repeating: 0, count: 64)
    var length = 0
    // EVP_PKEY_get_group_name(3) fails for a key without a group, such as RSA, and writes no more than the given
    // length.
    let hasGroup = EVP_PKEY_get_group_name(handle, &name, name.count, &length) == 1
    ERR_clear_error()
    return hasGroup ? String(decoding: name.prefix(length).map(UInt8.init(bitPattern:)), as: UTF8.self) : nil
  }

  /// Whether the key is an RSA key. A key that is restricted to RSA-PSS has another type.
  var isRSA: Bool {
    // EVP_PKEY_is_a(3) returns 1 for a key of this type.
    EVP_PKEY_is_a(handle, "RSA") == 1
  }

  /// Returns the signature of SHA-256 over a message. PKCS#1 v1.5 is the default padding of an RSA key
  /// (EVP_PKEY_CTX_set_rsa_padding(3)).
  func sign(_ message: [UInt8]) throws(SigningKeyError) -> [UInt8] {
    guard let signature = signature(of: message) else {
      ERR_clear_error()
      throw SigningKeyError(file: "the signing key", problem: .openSSL("signing failed"))
    }
    return signature
  }

  private func signature(of message: [UInt8]) -> [UInt8]? {
    guard let context = EVP_MD_CTX_new() else { return nil }
    defer { EVP_MD_CTX_free(context) }
    guard EVP_DigestSignInit(context, nil, EVP_sha256(), nil, handle) == 1 else { return nil }
    var count = 0
    // EVP_DigestSign(3): without a buffer it only sets `count` to the greatest size of a signature.
    guard EVP_DigestSign(context, nil, &count, message, message.count) == 1 else { return nil }
    var signature = [UInt8](repeating: 0, count: count)
    // The second call takes the size of the buffer and sets the number of bytes that it wrote.
    guard EVP_DigestSign(context, &signature, &count, message, message.count) == 1 else { return nil }
    return Array(signature.prefix(count))
  }

  /// Returns whether a signature is a valid signature of SHA-256 over the data.
  func verify(_ signature: [UInt8], of data: [UInt8]) -> Bool {
    guard let context = EVP_MD_CTX_new() else { return false }
    defer { EVP_MD_CTX_free(context) }
    defer { ERR_clear_error() }
    // EVP_DigestVerify(3) returns 1 for a valid signature, 0 for a wrong one, and negative values for malformed ones.
    guard EVP_DigestVerifyInit(context, nil, EVP_sha256(), nil, handle) == 1 else { return false }
    return EVP_DigestVerify(context, signature, signature.count, data, data.count) == 1
  }

  /// Private key as PKCS#8 in PEM. It is empty if OpenSSL is out of memory.
  var pem: String {
    (try? PEM.writing { bio in PEM_write_bio_PKCS8PrivateKey(bio, handle, nil, nil, 0, nil, nil) }) ?? ""
  }

  /// Public key in PEM (`BEGIN PUBLIC KEY`). It is empty if OpenSSL is out of memory.
  var publicPEM: String {
    (try? PEM.writing { bio in PEM_write_bio_PUBKEY(bio, handle) }) ?? ""
  }
}
