/// Reason why a signing key can't be used, with a hint.
public typealias SigningKeyError = CredentialFileError<SigningKeyProblem>

/// Problem with a signing key.
public enum SigningKeyProblem: CredentialFileProblem {
  /// The file can't be read, or too many users can read it.
  case file(SecretFileProblem)
  /// The file has a key, but requires a passphrase.
  case encrypted
  /// The file has no private key, or a damaged one.
  case notAKey
  /// The key lost more than its line breaks; the text describes the damage.
  case damaged(String)
  /// The key is not on P-256. The value is the name of its curve; `nil` if the key has no curve.
  case wrongKind(String?)
  /// The key is not an RSA key.
  case notRSA
  /// The RSA key has too few bits for RS256.
  case tooShort(bits: Int)
  /// OpenSSL failed with a valid key.
  case openSSL(String)

  public var reason: String {
    switch self {
    case .file(let problem): problem.reason
    case .encrypted: "the key is encrypted"
    case .notAKey: "no private key in PEM found"
    case .damaged(let what): "the key is damaged: \(what)"
    case .wrongKind(let curve?): "the key is on the curve \(curve)"
    case .wrongKind(nil): "not an elliptic-curve key"
    case .notRSA: "not an RSA key"
    case .tooShort(let bits): "the RSA key has \(bits) bits, and RS256 needs \(RSAPrivateKey.minimumBits)"
    case .openSSL(let reason): reason
    }
  }

  public func hint(for file: String) -> String {
    switch self {
    case .file(let problem): problem.hint(for: file)
    case .encrypted: "Apple's .p8 files are not encrypted; decrypt it: openssl pkcs8 -in FILE -out NEW"
    case .notAKey, .damaged: "use the .p8 file from developer.apple.com: Certificates, Identifiers & Profiles, Keys"
    case .wrongKind: "APNs accepts only keys on P-256 (ES256): use the .p8 file from developer.apple.com"
    case .notRSA, .tooShort: "use an RSA key of 2,048 bits, such as the one in a service account's JSON key"
    case .openSSL: "check whether OpenSSL can read it: openssl pkey -in FILE"
    }
  }
}
