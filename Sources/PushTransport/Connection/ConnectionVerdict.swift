internal import PushCore

/// What has gone wrong on a connection since the last look, and what that says about it. Pure.
struct ConnectionVerdict {
  /// What becomes of the connection.
  enum Conclusion: Equatable {
    /// It goes on; somebody may want to know what went wrong.
    case trouble(String)
    /// It takes no more pushes; that is nobody's fault.
    case ended
    /// It takes no more pushes, because it can't.
    case broken(String)
  }

  private var blame = ConnectionBlame()
  /// What was lost.
  private var loss: Loss = []
  /// When the last loss was seen: those that were under way by then tell nothing new.
  private var lostAt: UInt64 = 0

  /// Notes what an answer holds against the connection.
  mutating func note(_ blame: AnswerMeaning.Blame) { self.blame.note(blame) }

  /// Notes a push that got no answer.
  mutating func note(_ loss: Loss, sentAt: UInt64, now: UInt64) {
    self.loss.formUnion(loss)
    if sentAt > lostAt {
      blame.note(.counts)
      lostAt = now
    }
  }

  /// Draws the conclusion, and begins to look anew.
  ///
  /// - Parameters:
  ///   - trouble: why the first push was lost, in words, if any was: what follows on the same connection are consequences.
  ///   - isEstablished: whether a push was accepted on the connection.
  ///   - isNarrow: whether it is down at one push at a time.
  /// - Returns: `nil` where there is nothing to be said.
  mutating func conclude(
    _ condition: ConnectionCondition, trouble: @autoclosure () -> String?, isEstablished: Bool, isNarrow: Bool
  ) -> Conclusion? {
    defer { loss = [] }
    switch condition {
    case .goingAway(let text): return isEstablished ? .ended : .broken(text)
    case .broken(let text):
      // Closed without a word while nothing was under way, it did no harm.
      if isEstablished, loss.isEmpty { return .ended }
      return .broken(text ?? trouble() ?? "the connection was closed")
    case .exhausted: return .ended
    case .working: break
    }
    guard !loss.isEmpty else { return blame.isSpent || blame.isFaulty ? .ended : nil }
    let trouble = trouble() ?? "a push was lost"
    // Before the first acceptance, and down at one push at a time, a loss that may be the connection's is.
    if loss.contains(.silence) || loss.contains(.ofConnection) && (!isEstablished || isNarrow) {
      return .broken(trouble)
    }
    if blame.isSpent { return .ended }
    if blame.isFaulty { return isEstablished ? .ended : .broken(trouble) }
    return .trouble(trouble)
  }
}

/// What a transport knows of the connection as a whole.
enum ConnectionCondition: Equatable {
  /// Nothing speaks against it.
  case working
  /// The peer takes no more streams; the text says how it told, should nothing have been accepted yet.
  case goingAway(String)
  /// It is gone; the text says why, if the transport knows more than its pushes do.
  case broken(String?)
  /// No stream can be opened on it any more, though nothing is wrong with it.
  case exhausted
}

/// Why a push got no answer, as far as that says something of its connection.
struct Loss: OptionSet {
  let rawValue: UInt8

  /// It concerns this push.
  static let ofPush = Loss(rawValue: 1)
  /// It may concern the connection as a whole: the transport can't tell.
  static let ofConnection = Loss(rawValue: 2)
  /// Nothing has come from the peer for as long as an answer may take.
  static let silence = Loss(rawValue: 4)
}
