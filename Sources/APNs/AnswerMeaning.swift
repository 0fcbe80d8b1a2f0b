internal import PushCore

/// What an answer says beyond its push: about the connection that it came on, and about the credential. Pure.
struct AnswerMeaning: Equatable {
  /// How the connection is to be blamed.
  enum Blame: Equatable {
    /// It isn't: it works.
    case clears
    /// Neither way.
    case none
    /// It may be at fault: some in a row replace it.
    case counts
    /// It is of no more use, whatever else comes on it.
    case replaces
  }

  /// For the congestion window.
  var signal: CongestionWindow.Signal
  /// For the connection.
  var blame = Blame.none
  /// For the credential.
  var event: CredentialEvent?

  /// So many answers in a row that blame the connection replace it; one alone may be a whim of the server.
  static let faultsToReplace = 3

  /// Memberwise.
  init(signal: CongestionWindow.Signal, blame: Blame = .none, event: CredentialEvent? = nil) {
    self.signal = signal
    self.blame = blame
    self.event = event
  }

  /// - Parameter generation: of the credential that the push went with.
  init(_ answer: PushAnswer, generation: Int) {
    switch answer.status {
    case 200..<300:
      signal = .accepted
      blame = .clears
    case 429: signal = .throttled
    case 500..<600: signal = .busy
    default: signal = .rejected
    }
    switch answer.reason {
    case .expiredProviderToken:
      blame = .replaces
      event = .tokenExpired(generation: generation)
    case .tooManyProviderTokenUpdates:
      blame = .counts
      event = .tooManyTokens(generation: generation)
    // The one is about to be closed, the other is bound to another key.
    case .idleTimeout, .unrelatedKeyIdInToken: blame = .replaces
    case .shutdown: blame = .counts
    default: break
    }
  }
}
