/// What a refusal says beyond its push: about the connection that it came on, and about the credential.
public struct AnswerMeaning: Sendable, Equatable {
  /// How the connection is to be blamed.
  public enum Blame: Sendable, Equatable {
    /// It isn't: it works.
    case clears
    /// Neither way.
    case none
    /// It may be at fault: some in a row replace it.
    case counts
    /// It is of no more use, whatever else comes on it.
    case replaces
  }

  /// For the connection.
  public var blame: Blame
  /// For the credential.
  public var event: CredentialEvent?

  /// Memberwise.
  public init(blame: Blame = .none, event: CredentialEvent? = nil) {
    self.blame = blame
    self.event = event
  }
}
