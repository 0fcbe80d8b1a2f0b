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
  private static func holdingLimit(window: Int) -> Int { max(1, window / 2) }

  /// Which campaign must decide on what it has, so that what all hold back together never uses up the window: the one
  /// that holds most, as it has most to go by.
  ///
  /// - Parameters:
  ///   - held: answers that each campaign holds back.
  ///   - window: the worker's.
  /// - Returns: a position in `held`, or `nil` while there is room.
  public static func mustDecide(held: [Int], window: Int) -> Int? {
    guard held.reduce(0, +) >= holdingLimit(window: window) else { return nil }
    return held.indices.max { held[$0] < held[$1] }
  }

  /// This policy for a worker of that window: what it can't hold back it can't wait for.
  public func within(window: Int) -> GuardPolicy {
    var policy = self
    policy.minimum = min(minimum, Self.holdingLimit(window: window))
    return policy
  }
}
