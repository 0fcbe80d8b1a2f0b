/// What is wrong with a file of a key, a certificate or a passphrase.
public protocol CredentialFileProblem: Error, Equatable {
  /// The problem in words, without the file.
  var reason: String { get }
  /// What to do about the problem.
  ///
  /// - Parameter file: the path of the file.
  func hint(for file: String) -> String
}

/// The error for a file that can't be used.
public struct CredentialFileError<Kind: CredentialFileProblem>: Error, Equatable, CustomStringConvertible {
  /// The kinds of problem.
  public typealias Problem = Kind

  /// The path of the file.
  public var file: String
  /// What is wrong with the file.
  public var problem: Problem

  /// Memberwise.
  public init(file: String, problem: Problem) {
    self.file = file
    self.problem = problem
  }

  /// The problem in words, without the file.
  public var reason: String { problem.reason }

  /// What to do about the problem.
  public var hint: String { problem.hint(for: file) }

  public var description: String { "\(file): \(reason); \(hint)" }
}
