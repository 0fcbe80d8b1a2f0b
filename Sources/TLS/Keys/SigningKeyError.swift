/// The error for a signing key that can't be used.
public typealias SigningKeyError = CredentialFileError<SigningKeyProblem>

/// What is wrong with a signing key.
public enum SigningKeyProblem: CredentialFileProblem {
  /// The file can't be read, or more people than should can.
  case file(SecretFileProblem)
  /// It is there, but asks for a passphrase.
  case encrypted
  /// There is no private key in it, or a damaged one.
  case notAKey
  /// A key that lost more than its line breaks on the way: what happened to it.
  case damaged(String)
  /// A key, but not on P-256: the name of its curve, if it has one.
  case wrongKind(String?)
  /// OpenSSL failed on a good key.
  case openSSL(String)

  public var reason: String {
    switch self {
    case .file(let problem): problem.reason
    case .encrypted: "the key is encrypted"
    case .notAKey: "no private key in PEM found"
    case .damaged(let what): "the key is damaged: \(what)"
    case .wrongKind(let curve?): "the key is on the curve \(curve)"
    case .wrongKind(nil): "not an elliptic-curve key"
    case .openSSL(let reason): reason
    }
  }

  public func hint(for file: String) -> String {
    switch self {
    case .file(let problem): problem.hint(for: file)
    case .encrypted: "Apple's .p8 files are not; decrypt it with: openssl pkcs8 -in FILE -out NEW"
    case .notAKey, .damaged: "take the .p8 file of developer.apple.com: Certificates, Identifiers & Profiles, Keys"
    case .wrongKind: "APNs takes P-256 only (ES256): take the .p8 file of developer.apple.com"
    case .openSSL: "see whether openssl pkey -in FILE can read it"
    }
  }
}
