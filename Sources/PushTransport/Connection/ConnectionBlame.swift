internal import PushCore

/// Count of the errors that speak against a connection. Pure.
struct ConnectionBlame {
  /// Number of answers and losses in a row that count as errors.
  private var faults = 0
  /// Whether an answer means that the connection is of no more use, regardless of later answers.
  private(set) var isSpent = false

  /// Number of errors in a row that replace the connection. A single error may be accidental.
  private static let faultsToReplace = 3

  /// Whether too many errors in a row occurred on the connection.
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
