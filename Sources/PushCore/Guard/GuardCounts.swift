/// Counts of the push service's answers to a campaign.
public struct GuardCounts: Sendable, Equatable {
  /// Number of all counted answers: answers in which the push service accepts a push, or refuses its token or its
  /// message.
  public var answers: Int
  /// Number of ``answers`` which refuse the message, or say that the token is bad or belongs to another app.
  public var suspects: Int
  /// Number of ``answers`` which say that the device is gone.
  public var gone: Int

  /// Creates an instance with these values.
  public init(answers: Int = 0, suspects: Int = 0, gone: Int = 0) {
    self.answers = answers
    self.suspects = suspects
    self.gone = gone
  }

  /// Counts an answer. Outcomes that say nothing about the token or the message are ignored.
  ///
  /// - Returns: whether the answer was counted.
  @discardableResult
  public mutating func count(_ outcome: Outcome) -> Bool {
    switch outcome {
    case .accepted: break
    case .badToken, .wrongTopic, .rejected: suspects += 1
    case .unregistered, .expiredToken: gone += 1
    // Neither the token nor the message is the cause.
    case .failed, .expired, .unknown, .cancelled, .capped, .optedOut, .deviceGone: return false
    }
    answers += 1
    return true
  }

  /// Halves all counts, so that older answers have half the weight of newer ones.
  public mutating func halve() {
    self = GuardCounts(answers: answers / 2, suspects: suspects / 2, gone: gone / 2)
  }

  /// Returns the sum of two counts.
  public static func + (left: GuardCounts, right: GuardCounts) -> GuardCounts {
    GuardCounts(
      answers: left.answers + right.answers, suspects: left.suspects + right.suspects, gone: left.gone + right.gone)
  }

  /// Returns the counts of the left side minus the counts of the right side.
  public static func - (left: GuardCounts, right: GuardCounts) -> GuardCounts {
    GuardCounts(
      answers: left.answers - right.answers, suspects: left.suspects - right.suspects, gone: left.gone - right.gone)
  }
}
