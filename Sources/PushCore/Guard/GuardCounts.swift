/// What the push service has said of a campaign's tokens.
public struct GuardCounts: Sendable, Equatable {
  /// Answers that are the push service's word on a token.
  public var answers: Int
  /// Of these: the token is bad, or of another topic.
  public var suspects: Int
  /// Of these: the device is gone (410).
  public var gone: Int

  /// Memberwise.
  public init(answers: Int = 0, suspects: Int = 0, gone: Int = 0) {
    self.answers = answers
    self.suspects = suspects
    self.gone = gone
  }

  /// Takes an answer into account; outcomes that are not the push service's word on a token are ignored.
  ///
  /// - Returns: whether it was one.
  @discardableResult
  public mutating func count(_ outcome: Outcome) -> Bool {
    switch outcome {
    case .accepted: break
    case .badToken, .wrongTopic: suspects += 1
    case .unregistered, .expiredToken: gone += 1
    // A refusal for a reason that nobody knows says nothing of the token.
    case .rejected, .failed, .expired, .unknown, .cancelled, .capped, .optedOut, .deviceGone: return false
    }
    answers += 1
    return true
  }

  /// Lets older answers weigh half of newer ones.
  public mutating func halve() {
    self = GuardCounts(answers: answers / 2, suspects: suspects / 2, gone: gone / 2)
  }

  /// Both together.
  public static func + (left: GuardCounts, right: GuardCounts) -> GuardCounts {
    GuardCounts(
      answers: left.answers + right.answers, suspects: left.suspects + right.suspects, gone: left.gone + right.gone)
  }

  /// What has been counted on the left and not on the right.
  public static func - (left: GuardCounts, right: GuardCounts) -> GuardCounts {
    GuardCounts(
      answers: left.answers - right.answers, suspects: left.suspects - right.suspects, gone: left.gone - right.gone)
  }
}
