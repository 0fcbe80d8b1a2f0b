/// Counts of the push service's answers about a campaign's tokens.
public struct GuardCounts: Sendable, Equatable {
  /// Number of answers in which the push service accepts or refuses a token.
  public var answers: Int
  /// Number of ``answers`` which say that the token is bad or belongs to another topic.
  public var suspects: Int
  /// Number of ``answers`` which say that the device is gone (410).
  public var gone: Int

  /// Creates an instance with these values.
  public init(answers: Int = 0, suspects: Int = 0, gone: Int = 0) {
    self.answers = answers
    self.suspects = suspects
    self.gone = gone
  }

  /// Counts an answer. Outcomes that say nothing about the token are ignored.
  ///
  /// - Returns: whether the answer was counted.
  @discardableResult
  public mutating func count(_ outcome: Outcome) -> Bool {
    switch outcome {
    case .accepted: break
    case .badToken, .wrongTopic: suspects += 1
    case .unregistered, .expiredToken: gone += 1
    // A refusal for another reason says nothing about the token.
    case .rejected, .failed, .expired, .unknown, .cancelled, .capped, .optedOut, .deviceGone: return false
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
