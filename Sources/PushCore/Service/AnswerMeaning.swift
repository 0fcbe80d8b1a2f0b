/// Consequences of a refusal for the connection and for the credential of the push.
public struct AnswerMeaning: Sendable, Equatable {
  /// Effect of the answer on the connection's error count.
  public enum Blame: Sendable, Equatable {
    /// The connection works: its error count is set to 0.
    case clears
    /// No effect.
    case none
    /// The connection may be the cause. After several such answers in a row, the worker replaces it.
    case counts
    /// The connection can't be used any more. The worker replaces it, regardless of later answers.
    case replaces
  }

  /// Effect on the connection.
  public var blame: Blame
  /// Event for the credential; `nil` for none.
  public var event: CredentialEvent?

  /// Creates an instance with these values.
  public init(blame: Blame = .none, event: CredentialEvent? = nil) {
    self.blame = blame
    self.event = event
  }
}
