internal import PushCore

/// Count of consecutive errors that the connection itself may have caused. It shows when to replace the connection.
struct ConnectionBlame {
  /// Number of answers and losses in a row that count as errors.
  private var faults = 0
  /// Whether an answer has shown that the connection can no longer be used, even if later answers are good.
  private(set) var isSpent = false

  /// Number of errors in a row after which the connection is replaced. A single error may be chance.
  private static let faultsToReplace = 3

  /// Whether too many errors in a row occurred on the connection.
  var isFaulty: Bool { faults >= Self.faultsToReplace }

  mutating func record(_ blame: AnswerMeaning.Blame) {
    switch blame {
    case .clears: faults = 0
    case .none: break
    case .counts: faults += 1
    case .replaces: isSpent = true
    }
  }
}
