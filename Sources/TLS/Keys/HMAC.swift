internal import COpenSSL

/// Keyed digests (RFC 2104).
public enum HMAC {
  /// Returns the HMAC-SHA-256 of a message: 32 bytes.
  public static func sha256(_ message: some Collection<UInt8>, key: [UInt8]) -> [UInt8] {
    let message = Array(message)
    var digest = [UInt8](repeating: 0, count: Int(EVP_MAX_MD_SIZE))
    var count: UInt32 = 0
    // HMAC(3) writes at most EVP_MAX_MD_SIZE bytes and their number. It returns null if the default provider is
    // missing.
    guard COpenSSL.HMAC(EVP_sha256(), key, Int32(key.count), message, message.count, &digest, &count) != nil else {
      fatalError("OpenSSL has no SHA-256: its default provider is missing or disabled in openssl.cnf")
    }
    return Array(digest.prefix(Int(count)))
  }
}
