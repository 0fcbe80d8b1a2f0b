/// Consequences of a refusal for the connection and for the credential of the push.
public struct AnswerMeaning: Sendable, Equatable {
  /// Effect of the answer on the connection's record of errors.
  public enum Blame: Sendable, Equatable {
    /// The connection works: its record is cleared.
    case clears
    /// No effect.
    case none
    /// The connection may be at fault: several such answers in a row replace it.
    case counts
    /// The connection is of no more use and is replaced, regardless of later answers.
    case replaces
  }

  /// Effect on the connection.
  public var blame: Blame
  /// Event for the credential.
  public var event: CredentialEvent?

  /// Creates an instance with these values.
  public init(blame: Blame = .none, event: CredentialEvent? = nil) {
    self.blame = blame
    self.event = event
  }
}
