/// When a campaign's answers look like a fault of the configuration rather than of its devices.
public struct GuardPolicy: Sendable, Equatable {
  /// Share of answers that call the token bad or of another topic, above which a campaign is paused.
  public var threshold: Double
  /// Share of 410 answers above which a campaign is paused.
  public var pruneShare: Double
  /// Answers before the shares count; at least 1.
  public var minimum: Int

  /// Memberwise, with the defaults of the configuration.
  public init(threshold: Double = 0.1, pruneShare: Double = 0.5, minimum: Int = 200) {
    self.threshold = threshold
    self.pruneShare = pruneShare
    self.minimum = minimum
  }

  /// Answers that may be held back at once in a window: half of it, so that the other half goes on earning answers.
  public static func holdingLimit(window: Int) -> Int { max(1, window / 2) }

  /// This policy for a worker of that window: what it can't hold back it can't wait for.
  public func within(window: Int) -> GuardPolicy {
    var policy = self
    policy.minimum = min(minimum, Self.holdingLimit(window: window))
    return policy
  }
}
