/// Reason why a signing key can't be used, with a remedy.
public struct SigningKeyError: Error, Equatable, Sendable, CustomStringConvertible {
  /// Problem with the key.
  public enum Problem: Error, Equatable, Sendable {
    /// The file can't be read, or too many users can read it.
    case file(SecretFileError.Problem)
    /// The file has a key, but requires a passphrase.
    case encrypted
    /// The file has no private key, or a damaged one.
    case notAKey
    /// The key lost more than its line breaks; the text describes the damage.
    case damaged(String)
    /// The key is not on P-256; the name of its curve, if it has one.
    case wrongKind(String?)
    /// OpenSSL failed with a valid key.
    case openSSL(String)
  }

  /// Path of the file.
  public var file: String
  /// Problem with the key.
  public var problem: Problem

  /// Memberwise.
  public init(file: String, problem: Problem) {
    self.file = file
    self.problem = problem
  }

  /// Description of the problem without the file.
  public var reason: String {
    switch problem {
    case .file(let problem): SecretFileError(file: file, problem: problem).reason
    case .encrypted: "the key is encrypted"
    case .notAKey: "no private key in PEM found"
    case .damaged(let what): "the key is damaged: \(what)"
    case .wrongKind(let curve?): "the key is on the curve \(curve)"
    case .wrongKind(nil): "not an elliptic-curve key"
    case .openSSL(let reason): reason
    }
  }

  /// Remedy.
  public var hint: String {
    switch problem {
    case .file(let problem): SecretFileError(file: file, problem: problem).hint
    case .encrypted: "Apple's .p8 files are not; decrypt it with: openssl pkcs8 -in FILE -out NEW"
    case .notAKey, .damaged: "take the .p8 file of developer.apple.com: Certificates, Identifiers & Profiles, Keys"
    case .wrongKind: "APNs takes P-256 only (ES256): take the .p8 file of developer.apple.com"
    case .openSSL: "see whether openssl pkey -in FILE can read it"
    }
  }

  public var description: String { "\(file): \(reason); \(hint)" }
}
