internal import COpenSSL

/// Hash function that reuses its context. Hashing a short message therefore takes only 0.1 µs.
///
/// Confined to one thread at a time.
public final class Digest {
  /// Supported hash functions.
  public enum Algorithm: Sendable {
    /// 20 bytes. Only for UUIDs of version 5 (RFC 9562 section 5.5), not for protection against attackers.
    case sha1
    /// 32 bytes.
    case sha256

    /// Length of a digest in bytes.
    public var length: Int { self == .sha1 ? 20 : 32 }
  }

  /// Length of a digest in bytes.
  public let length: Int
  private let context: OpaquePointer

  /// - Parameter algorithm: the hash function.
  public init(_ algorithm: Algorithm) {
    length = algorithm.length
    guard let context = EVP_MD_CTX_new() else { fatalError("EVP_MD_CTX_new: out of memory") }
    self.context = context
    let method = algorithm == .sha1 ? FetchedMethod.sha1 : FetchedMethod.sha256
    guard EVP_DigestInit_ex(context, method.handle, nil) == 1 else {
      fatalError("OpenSSL has no \(algorithm): its default provider is missing or disabled in openssl.cnf")
    }
  }

  deinit { EVP_MD_CTX_free(context) }

  /// Appends bytes to the message.
  public func update(_ bytes: UnsafeRawBufferPointer) {
    // EVP_DigestUpdate(3) fails only on a context that was not initialised.
    EVP_DigestUpdate(context, bytes.baseAddress, bytes.count)
  }

  /// Writes the digest of the message to the first ``length`` bytes of `output`, and begins a new message.
  public func finish(into output: UnsafeMutableRawBufferPointer) {
    precondition(output.count >= length)
    EVP_DigestFinal_ex(context, output.baseAddress?.assumingMemoryBound(to: UInt8.self), nil)
    // EVP_DigestInit_ex(3): with a null type, the context keeps its hash function.
    EVP_DigestInit_ex(context, nil, nil)
  }

  /// Returns the digest of a whole message.
  public func hash(_ message: some Collection<UInt8>) -> [UInt8] {
    Array(message).withUnsafeBytes { update($0) }
    var digest = [UInt8](repeating: 0, count: length)
    digest.withUnsafeMutableBytes { finish(into: $0) }
    return digest
  }
}

/// Hash function of OpenSSL, fetched once for the process. Without this, OpenSSL would fetch it again for every digest,
/// which takes three times as long as the hash itself (EVP_MD_fetch(3), "implicit fetching" in crypto(7)).
///
/// `@unchecked Sendable` is sound because a fetched `EVP_MD` never changes and its reference count is atomic. The two
/// methods live as long as the process.
private struct FetchedMethod: @unchecked Sendable {
  let handle: OpaquePointer?

  static let sha1 = FetchedMethod(handle: EVP_MD_fetch(nil, "SHA1", nil))
  static let sha256 = FetchedMethod(handle: EVP_MD_fetch(nil, "SHA256", nil))
}
