internal import PushCore

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
