/// Problem with a file that contains a key, a certificate or a passphrase.
public protocol CredentialFileProblem: Error, Equatable {
  /// Description of the problem without the file.
  var reason: String { get }
  /// Returns the next step for the user.
  ///
  /// - Parameter file: path of the file.
  func hint(for file: String) -> String
}

/// Reason why a file can't be used, with a hint.
public struct CredentialFileError<Kind: CredentialFileProblem>: Error, Equatable, CustomStringConvertible {
  /// Type of the problem.
  public typealias Problem = Kind

  /// Path of the file.
  public var file: String
  /// Problem with the file.
  public var problem: Problem

  /// Creates an error from its values.
  public init(file: String, problem: Problem) {
    self.file = file
    self.problem = problem
  }

  /// Description of the problem without the file.
  public var reason: String { problem.reason }

  /// The next step for the user.
  public var hint: String { problem.hint(for: file) }

  public var description: String { "\(file): \(reason); \(hint)" }
}
