/// Why a signing key can't be used, and what to do about it.
public struct SigningKeyError: Error, Equatable, Sendable, CustomStringConvertible {
  /// What is wrong with it.
  public enum Problem: Equatable, Sendable {
    /// The file can't be read; the system's own words.
    case unreadable(String)
    /// It is there, but asks for a passphrase.
    case encrypted
    /// There is no private key in it, or a damaged one.
    case notAKey
    /// A key, but not on P-256: the name of its curve, if it has one.
    case wrongKind(String?)
    /// OpenSSL failed on a good key.
    case openSSL(String)
  }

  /// The file.
  public var file: String
  /// What is wrong with it.
  public var problem: Problem

  /// Memberwise.
  public init(file: String, problem: Problem) {
    self.file = file
    self.problem = problem
  }

  public var description: String {
    switch problem {
    case .unreadable(let reason): "\(file): \(reason); check the path and its permissions"
    case .encrypted:
      "\(file): the key is encrypted; Apple's .p8 files are not. Decrypt it with: openssl pkcs8 -in FILE -out NEW"
    case .notAKey:
      "\(file): no private key in PEM found; download the .p8 from developer.apple.com (Certificates, Identifiers & Profiles, Keys)"
    case .wrongKind(let curve?): "\(file): the key is on the curve \(curve); APNs takes only P-256 (ES256)"
    case .wrongKind(nil): "\(file): not an elliptic-curve key; APNs takes only P-256 (ES256)"
    case .openSSL(let reason): "\(file): \(reason)"
    }
  }
}
