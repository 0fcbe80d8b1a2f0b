internal import COpenSSL

/// RSA public key that verifies RS256 signatures (RFC 7518 section 3.3).
///
/// `@unchecked Sendable` is sound because the key never changes after `init`, and OpenSSL allows the use of an
/// unchanging `EVP_PKEY` from any number of threads (openssl-threads(7)).
public final class RSAPublicKey: @unchecked Sendable {
  private let handle: OpaquePointer

  /// - Parameter pem: a public key (`BEGIN PUBLIC KEY`), or a private key whose public key is used.
  /// - Throws: ``TLSError`` if the text contains no key, or a key of another type.
  public init(pem: String) throws {
    let isPrivate = pem.contains("PRIVATE KEY")
    handle =
      try isPrivate
      ? PEM.privateKey(in: pem)
      : PEM.reading(pem) { bio in
        guard let key = PEM_read_bio_PUBKEY(bio, nil, refusePassphrase, nil) else {
          throw TLSError.last("read public key")
        }
        return key
      }
    // EVP_PKEY_is_a(3) returns 1 for a key of this type.
    guard EVP_PKEY_is_a(handle, "RSA") == 1 else {
      throw TLSError(operation: "read public key", reason: "not an RSA key")
    }
  }

  deinit { EVP_PKEY_free(handle) }

  /// Returns whether `signature` is an RS256 signature over `data`.
  public func verify(signature: [UInt8], of data: [UInt8]) -> Bool {
    guard let context = EVP_MD_CTX_new() else { return false }
    defer { EVP_MD_CTX_free(context) }
    defer { ERR_clear_error() }
    // EVP_DigestVerify(3) returns 1 for a valid signature, 0 for a wrong one, and negative values for malformed ones.
    // PKCS#1 v1.5 is the default padding (EVP_PKEY_CTX_set_rsa_padding(3)).
    guard EVP_DigestVerifyInit(context, nil, EVP_sha256(), nil, handle) == 1 else { return false }
    return EVP_DigestVerify(context, signature, signature.count, data, data.count) == 1
  }
}
