internal import COpenSSL

/// P-256 public key that verifies ES256 signatures (RFC 7518 section 3.4).
public struct ECPublicKey: Sendable {
  private let key: OpenSSLKey

  /// - Parameter pem: a public key (`BEGIN PUBLIC KEY`), or a private key (such as a `.p8`) whose public key is used.
  /// - Throws: ``TLSError`` if the text contains no key, or one that is not on P-256.
  public init(pem: String) throws {
    key = try OpenSSLKey(pem: pem)
    guard key.group == ECPrivateKey.group else {
      throw TLSError(operation: "read public key", reason: "not an elliptic-curve key on P-256")
    }
  }

  /// Returns whether `signature` is the raw 64 bytes r‖s of ES256 over `data`.
  public func verify(rawSignature signature: [UInt8], of data: [UInt8]) -> Bool {
    guard signature.count == ECPrivateKey.signatureLength, let der = Self.der(fromRaw: signature) else { return false }
    return verify(derSignature: der, of: data)
  }

  /// Returns whether `signature` is a DER `ECDSA-Sig-Value` (RFC 3279 section 2.2.3) of ES256 over `data`.
  public func verify(derSignature signature: [UInt8], of data: [UInt8]) -> Bool { key.verify(signature, of: data) }

  private static func der(fromRaw raw: [UInt8]) -> [UInt8]? {
    raw.withUnsafeBufferPointer { bytes -> [UInt8]? in
      guard let start = bytes.baseAddress, let signature = ECDSA_SIG_new() else { return nil }
      defer { ECDSA_SIG_free(signature) }
      guard let r = BN_bin2bn(start, 32, nil) else { return nil }
      guard let s = BN_bin2bn(start + 32, 32, nil) else {
        BN_free(r)
        return nil
      }
      // ECDSA_SIG_set0(3) takes ownership of both numbers; it fails only for null arguments.
      guard ECDSA_SIG_set0(signature, r, s) == 1 else { return nil }
      // i2d_ECDSA_SIG(3) only returns the length if the pointer is null. The second call moves the pointer past the
      // bytes that it wrote.
      let count = i2d_ECDSA_SIG(signature, nil)
      guard count > 0 else { return nil }
      var der = [UInt8](repeating: 0, count: Int(count))
      let written = der.withUnsafeMutableBufferPointer { buffer in
        var place = buffer.baseAddress
        return i2d_ECDSA_SIG(signature, &place)
      }
      return written == count ? der : nil
    }
  }
}
