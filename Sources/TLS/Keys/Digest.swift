internal import COpenSSL

/// A hash function, and a context that is used again and again: 0.1 µs for a short message.
///
/// Confined to one thread at a time.
public final class Digest {
  /// The functions on offer.
  public enum Algorithm: Sendable {
    /// 20 bytes. For UUIDs of version 5 only (RFC 9562 section 5.5): not for anything that must withstand an attacker.
    case sha1
    /// 32 bytes.
    case sha256

    /// The bytes of a digest.
    public var length: Int { self == .sha1 ? 20 : 32 }
  }

  /// The bytes of a digest.
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

  /// Adds to the message.
  public func update(_ bytes: UnsafeRawBufferPointer) {
    // EVP_DigestUpdate(3) fails only on a context that was not initialised.
    EVP_DigestUpdate(context, bytes.baseAddress, bytes.count)
  }

  /// Writes the digest of the message to the first ``length`` bytes of `output`, and begins a new message.
  public func finish(into output: UnsafeMutableRawBufferPointer) {
    precondition(output.count >= length)
    EVP_DigestFinal_ex(context, output.baseAddress?.assumingMemoryBound(to: UInt8.self), nil)
    // EVP_DigestInit_ex(3): with a null type the context goes on with the function it has.
    EVP_DigestInit_ex(context, nil, nil)
  }

  /// The digest of a whole message.
  public func hash(_ message: some Collection<UInt8>) -> [UInt8] {
    Array(message).withUnsafeBytes { update($0) }
    var digest = [UInt8](repeating: 0, count: length)
    digest.withUnsafeMutableBytes { finish(into: $0) }
    return digest
  }
}

/// A method fetched once: an implicit fetch in every `EVP_DigestInit` costs three times the hash itself (EVP_MD_fetch(3),
/// "implicit fetching" in crypto(7)).
///
/// `@unchecked Sendable` is sound because a fetched `EVP_MD` never changes and its count is atomic; these two are kept
/// for the life of the process.
private struct FetchedMethod: @unchecked Sendable {
  let handle: OpaquePointer?

  static let sha1 = FetchedMethod(handle: EVP_MD_fetch(nil, "SHA1", nil))
  static let sha256 = FetchedMethod(handle: EVP_MD_fetch(nil, "SHA256", nil))
}
