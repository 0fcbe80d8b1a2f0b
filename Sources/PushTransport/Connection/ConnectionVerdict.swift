internal import PushCore

/// Decides from the errors on a connection whether the connection continues. It collects the errors since the last
/// decision.
struct ConnectionVerdict {
  /// Decision about the connection.
  enum Conclusion: Equatable {
    /// The connection continues; the text describes an error for logs.
    case pushesLost(String)
    /// The connection takes no more pushes, without an error.
    case ended
    /// The connection takes no more pushes, because of an error.
    case broken(String)
  }

  private var blame = ConnectionBlame()
  /// Kinds of the losses since the last conclusion. A loss is a push without an answer.
  private var loss: Loss = []
  /// Time of the last loss. Further losses of pushes that were in flight at that time are not counted as new errors.
  private var lostAt: UInt64 = 0

  /// Records the effect of an answer on the connection.
  mutating func record(_ blame: AnswerMeaning.Blame) { self.blame.record(blame) }

  /// Records a push without an answer.
  mutating func record(_ loss: Loss, sentAt: UInt64, now: UInt64) {
    self.loss.formUnion(loss)
    if sentAt > lostAt {
      blame.record(.counts)
      lostAt = now
    }
  }

  /// Returns the decision about the connection, and clears the losses.
  ///
  /// - Parameters:
  ///   - lossReason: the reason why the first push was lost; `nil` if none was lost. Later losses on the same
  ///     connection are consequences of the first one.
  ///   - isEstablished: whether a push was accepted on the connection.
  ///   - isNarrow: whether the window is one push.
  /// - Returns: `nil` if there is nothing to report.
  mutating func conclude(
    _ condition: ConnectionCondition, lossReason: @autoclosure () -> String?, isEstablished: Bool, isNarrow: Bool
  ) -> Conclusion? {
    defer { loss = [] }
    switch condition {
    case .goingAway(let text): return isEstablished ? .ended : .broken(text)
    case .broken(let text):
      // The connection was closed without an error while no push was in flight, so nothing was lost.
      if isEstablished, loss.isEmpty { return .ended }
      return .broken(text ?? lossReason() ?? "the connection was closed")
    case .exhausted: return .ended
    case .working: break
    }
    guard !loss.isEmpty else { return blame.isSpent || blame.isFaulty ? .ended : nil }
    let lossReason = lossReason() ?? "a push was lost"
    // Before the first accepted push, or with a window of one push, a loss that may concern the connection counts as an
    // error of the connection.
    if loss.contains(.silence) || loss.contains(.ofConnection) && (!isEstablished || isNarrow) {
      return .broken(lossReason)
    }
    if blame.isSpent { return .ended }
    if blame.isFaulty { return isEstablished ? .ended : .broken(lossReason) }
    return .pushesLost(lossReason)
  }
}

/// Condition of a connection, as far as its transport knows it.
enum ConnectionCondition: Equatable {
  /// The connection works.
  case working
  /// The peer takes no more streams. The text is logged if no push was accepted on the connection.
  case goingAway(String)
  /// The connection is lost. The text is the reason; `nil` if the transport knows only the errors of the pushes.
  case broken(String?)
  /// No further stream can be opened on the connection, because no stream identifier is left. This is not an error.
  case exhausted
}

/// Reason why a push got no answer, as far as it concerns the connection.
struct Loss: OptionSet {
  let rawValue: UInt8

  /// The reason concerns only this push.
  static let ofPush = Loss(rawValue: 1)
  /// The reason may concern the whole connection; the transport does not know.
  static let ofConnection = Loss(rawValue: 2)
  /// The peer has sent nothing for as long as an answer may take.
  static let silence = Loss(rawValue: 4)
}
