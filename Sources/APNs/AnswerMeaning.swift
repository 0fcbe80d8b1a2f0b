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

/// What is held against a connection. Pure.
struct ConnectionBlame {
  /// Answers, and losses, in a row that count.
  private var faults = 0
  /// An answer has said that the connection is no good any more, whatever else comes on it.
  private(set) var isSpent = false

  /// So many in a row replace the connection; one alone may be a whim of the server.
  private static let faultsToReplace = 3

  /// Whether too much has gone wrong on it in a row.
  var isFaulty: Bool { faults >= Self.faultsToReplace }

  mutating func note(_ blame: AnswerMeaning.Blame) {
    switch blame {
    case .clears: faults = 0
    case .none: break
    case .counts: faults += 1
    case .replaces: isSpent = true
    }
  }
}
