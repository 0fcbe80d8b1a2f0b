/// Bounds beyond which a campaign's answers indicate a wrong configuration or a wrong message, and not bad devices.
public struct GuardPolicy: Sendable, Equatable {
  /// Share, 0 to 1, of answers which refuse the message, or say that the token is bad or belongs to another app. Above
  /// this share, the campaign is paused.
  public var threshold: Double
  /// Share, 0 to 1, of answers which say that the device is gone. Above this share, the campaign is paused.
  public var pruneShare: Double
  /// Number of answers that are necessary to evaluate the shares; at least 1.
  public var minimum: Int

  /// Creates an instance with the defaults of the configuration.
  public init(threshold: Double = 0.1, pruneShare: Double = 0.5, minimum: Int = 200) {
    self.threshold = threshold
    self.pruneShare = pruneShare
    self.minimum = minimum
  }

  /// Returns the number of answers that a worker may hold back at the same time: half of its window. The worker uses
  /// the other half to send pushes and get more answers.
  private static func holdingLimit(window: Int) -> Int { max(1, window / 2) }

  /// Returns the campaign whose guard must decide from its present answers, so that held answers never use up the
  /// worker's window. The result is the campaign that holds back the most answers, because it has the best basis for a
  /// decision.
  ///
  /// - Parameters:
  ///   - held: number of answers that each campaign holds back.
  ///   - window: the worker's window.
  /// - Returns: the position of the campaign in `held`; `nil` if the worker can hold back more answers.
  public static func mustDecide(held: [Int], window: Int) -> Int? {
    guard held.reduce(0, +) >= holdingLimit(window: window) else { return nil }
    return held.indices.max { held[$0] < held[$1] }
  }

  /// Returns this policy for a worker with the given window: the minimum is never larger than the number of answers
  /// that the worker can hold back.
  public func within(window: Int) -> GuardPolicy {
    var policy = self
    policy.minimum = min(minimum, Self.holdingLimit(window: window))
    return policy
  }
}
