internal import COpenSSL

extension TLSIdentity {
  /// Reads a client identity: PKCS#12 (`.p12`), or PEM with certificate and key in one file.
  ///
  /// - Parameters:
  ///   - path: the file; the order of its contents does not matter.
  ///   - passphraseFile: a file whose first line is the passphrase; `nil` for none.
  /// - Throws: ``IdentityError``, which names the file.
  public init(contentsOf path: String, passphraseFile: String? = nil) throws(IdentityError) {
    let bytes: [UInt8]
    var passphrase: [UInt8]?
    do throws(SecretFileError) {
      bytes = try SecretFile.read(path)
      if let passphraseFile { passphrase = try SecretFile.passphrase(passphraseFile) }
    } catch {
      throw IdentityError(file: error.file, problem: .file(error.problem))
    }
    try self.init(bytes, passphrase: passphrase, file: path)
  }

  /// Reads a client identity from two PEM files, the usual form for servers other than Apple's.
  ///
  /// - Parameters:
  ///   - certificateFile: the certificate and its intermediates, in any order; all users may read it.
  ///   - keyFile: the private key, without a passphrase; only its owner and its group may read it.
  /// - Throws: ``IdentityError``, which names the file.
  public init(certificateFile: String, keyFile: String) throws(IdentityError) {
    let (certificates, key): ([UInt8], [UInt8])
    do throws(SecretFileError) {
      certificates = try SecretFile.contents(certificateFile, isSecret: certificateFile == keyFile)
      key = try SecretFile.read(keyFile)
    } catch {
      throw IdentityError(file: error.file, problem: .file(error.problem))
    }
    let begin = Array("-----BEGIN ".utf8)
    for (file, bytes) in [(certificateFile, certificates), (keyFile, key)] where !bytes.contains(begin) {
      throw IdentityError(file: file, problem: .notPEM)
    }
    try self.init(
      certificateFile == keyFile ? key : certificates + [UInt8(ascii: "\n")] + key, passphrase: nil,
      file: certificateFile)
  }

  /// Reads a client identity from the bytes of a file.
  ///
  /// - Parameters:
  ///   - bytes: PKCS#12 or PEM.
  ///   - passphrase: `nil` for none.
  ///   - file: the file name in errors.
  public init(_ bytes: [UInt8], passphrase: [UInt8]?, file: String = "the identity") throws(IdentityError) {
    do {
      let parts: IdentityParts
      // A PKCS#12 file is a DER SEQUENCE (RFC 7292 section 4); PEM is text.
      if bytes.first == 0x30 {
        parts = try IdentityParts(pkcs12: bytes, passphrase: passphrase)
      } else if String(decoding: bytes, as: UTF8.self).contains("-----BEGIN ") {
        parts = try IdentityParts(pem: bytes, passphrase: passphrase)
      } else {
        throw IdentityParts.Failure(.unknownFormat)
      }
      self = try parts.identity()
      // Refuses an identity without a readable period of validity.
      _ = try CertificateFacts(pem: certificateChainPEM)
      ERR_clear_error()
    } catch {
      ERR_clear_error()
      let problem = (error as? IdentityParts.Failure)?.problem ?? .damaged("\(error)")
      throw IdentityError(file: file, problem: problem)
    }
  }
}

/// Private key and certificates as OpenSSL objects, each with a reference that this object owns.
private final class IdentityParts {
  struct Failure: Error {
    var problem: IdentityProblem
    init(_ problem: IdentityProblem) { self.problem = problem }
  }

  private var key: OpaquePointer?
  private var certificates: [OpaquePointer] = []
  /// The key and the certificates may belong to the provider's context, so this object keeps the provider until it has
  /// freed them.
  private let legacy: LegacyProvider?

  private init(legacy: LegacyProvider?) { self.legacy = legacy }

  deinit {
    EVP_PKEY_free(key)
    certificates.forEach { X509_free($0) }
  }

  // MARK: PKCS#12

  convenience init(pkcs12 bytes: [UInt8], passphrase: [UInt8]?) throws {
    do {
      try self.init(pkcs12: bytes, passphrase: passphrase, legacy: nil)
    } catch let failure as Failure where failure.problem.mayBeLegacy {
      // The passphrase is right, but a cipher is unknown; it is probably Keychain's RC2.
      guard let legacy = LegacyProvider() else { throw Failure(.legacyProviderMissing) }
      try self.init(pkcs12: bytes, passphrase: passphrase, legacy: legacy)
    }
  }

  private convenience init(pkcs12 bytes: [UInt8], passphrase: [UInt8]?, legacy: LegacyProvider?) throws {
    self.init(legacy: legacy)
    // PKCS12_init_ex(3): contents that are decoded into this object use the ciphers of the given context.
    var container = PKCS12_init_ex(NID_pkcs7_data, legacy?.context, nil)
    defer { PKCS12_free(container) }
    let isRead = bytes.withUnsafeBufferPointer { buffer in
      var place = buffer.baseAddress
      // d2i_PKCS12(3) decodes into the given object. On an error, it frees the object and sets the pointer to null.
      return d2i_PKCS12(&container, &place, buffer.count) != nil
    }
    guard isRead, let container else {
      // A .cer file from Apple's site is DER too, but contains only a certificate.
      throw Failure(Self.isCertificate(bytes) ? .noKey : .unknownFormat)
    }
    let secret = ((passphrase ?? []) + [0]).map { CChar(bitPattern: $0) }
    // PKCS12_verify_mac(3): a null passphrase differs from an empty one, and tools disagree about which of them means
    // "none".
    let isOpen =
      PKCS12_mac_present(container) == 0 || PKCS12_verify_mac(container, secret, -1) == 1
      || secret.count == 1 && PKCS12_verify_mac(container, nil, 0) == 1
    guard isOpen else { throw Failure(passphrase == nil ? .passphraseMissing : .wrongPassphrase) }
    var others: OpaquePointer?
    var leaf: OpaquePointer?
    ERR_clear_error()
    // PKCS12_parse(3) returns references that the caller owns. The leaf is the certificate that matches the key, if
    // there is one.
    guard PKCS12_parse(container, secret, &key, &leaf, &others) == 1 else {
      throw Failure(.damaged(TLSError.last("PKCS#12").reason))
    }
    if let leaf { certificates.append(leaf) }
    if let others {
      defer { carillon_certificates_free(others) }
      while let certificate = carillon_certificates_take(others) { certificates.append(certificate) }
    }
  }

  private static func isCertificate(_ bytes: [UInt8]) -> Bool {
    bytes.withUnsafeBufferPointer { buffer in
      var place = buffer.baseAddress
      guard let certificate = d2i_X509(nil, &place, buffer.count) else { return false }
      X509_free(certificate)
      return true
    }
  }

  // MARK: PEM

  convenience init(pem bytes: [UInt8], passphrase: [UInt8]?) throws {
    let text = String(decoding: bytes, as: UTF8.self)
    let isEncrypted =
      text.contains("-----BEGIN ENCRYPTED PRIVATE KEY-----") || text.contains("Proc-Type: 4,ENCRYPTED")
    guard text.contains("PRIVATE KEY-----") else { throw Failure(.noKey) }
    guard text.contains("-----BEGIN CERTIFICATE-----") else { throw Failure(.noCertificate) }
    if isEncrypted, passphrase == nil { throw Failure(.passphraseMissing) }
    do {
      try self.init(pem: text, passphrase: passphrase, legacy: nil)
    } catch let failure as Failure where isEncrypted && failure.problem.mayBeLegacy {
      // PEM has no checksum, so only a second attempt with the legacy provider distinguishes an unknown cipher from a
      // wrong passphrase.
      guard let legacy = LegacyProvider() else { throw Failure(.wrongPassphrase) }
      do {
        try self.init(pem: text, passphrase: passphrase, legacy: legacy)
      } catch {
        throw Failure(.wrongPassphrase)
      }
    }
  }

  private convenience init(pem text: String, passphrase: [UInt8]?, legacy: LegacyProvider?) throws {
    self.init(legacy: legacy)
    key = try PEM.reading(text) { bio in
      let secret = Passphrase(passphrase)
      return withExtendedLifetime(secret) {
        // PEM_read_bio_PrivateKey_ex(3) skips everything that is not a key. The third argument from the end is passed
        // to the callback.
        PEM_read_bio_PrivateKey_ex(
          bio, nil, givePassphrase, Unmanaged.passUnretained(secret).toOpaque(), legacy?.context, nil)
      }
    }
    guard key != nil else { throw Failure(.damaged(TLSError.last("private key").reason)) }
    certificates = try PEM.certificates(in: text)
  }

  // MARK: Result

  /// Returns the identity, with its certificates in the order in which TLS sends them (RFC 8446 section 4.4.2).
  func identity() throws -> TLSIdentity {
    guard let key else { throw Failure(.noKey) }
    guard !certificates.isEmpty else { throw Failure(.noCertificate) }
    // X509_check_private_key(3) checks whether the public keys are equal.
    guard let leaf = certificates.first(where: { X509_check_private_key($0, key) == 1 }) else {
      throw Failure(.mismatch)
    }
    let chain = chain(from: leaf)
    return TLSIdentity(
      certificateChainPEM: try chain.map { certificate in
        try PEM.writing { PEM_write_bio_X509($0, certificate) }
      }.joined(),
      privateKeyPEM: try PEM.writing { PEM_write_bio_PKCS8PrivateKey($0, key, nil, nil, 0, nil, nil) })
  }

  /// Returns the leaf and its issuers without the root, because a server either has the root or does not trust it.
  private func chain(from leaf: OpaquePointer) -> [OpaquePointer] {
    var chain = [leaf]
    while let last = chain.last, X509_check_issued(last, last) != X509_V_OK,
      // X509_check_issued(3) returns X509_V_OK if the first certificate issued the second, by names and key ids.
      let issuer = certificates.first(where: { X509_check_issued($0, last) == X509_V_OK && !chain.contains($0) }),
      X509_check_issued(issuer, issuer) != X509_V_OK
    {
      chain.append(issuer)
    }
    return chain
  }
}

extension IdentityProblem {
  /// Whether an unknown cipher may be the cause.
  fileprivate var mayBeLegacy: Bool { if case .damaged = self { true } else { false } }
}

/// Passphrase, passed to a callback through a `void *`.
private final class Passphrase {
  let bytes: [UInt8]
  init(_ bytes: [UInt8]?) { self.bytes = bytes ?? [] }
}

/// Callback for pem_password_cb(3). It copies the passphrase and returns its length; -1 if the passphrase is too long
/// for the buffer.
private func givePassphrase(
  _ buffer: UnsafeMutablePointer<CChar>?, _ size: Int32, _: Int32, _ data: UnsafeMutableRawPointer?
) -> Int32 {
  guard let buffer, let data else { return -1 }
  return Unmanaged<Passphrase>.fromOpaque(data)._withUnsafeGuaranteedRef { passphrase in
    guard passphrase.bytes.count <= Int(size) else { return -1 }
    UnsafeMutableRawPointer(buffer).copyMemory(from: passphrase.bytes, byteCount: passphrase.bytes.count)
    return Int32(passphrase.bytes.count)
  }
}
