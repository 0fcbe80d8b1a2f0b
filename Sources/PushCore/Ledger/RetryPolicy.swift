/// Delays between the attempts of a push, and the number of attempts. The policy combines the configured values with
/// the bounds of the push service (``RetryBounds``).
public struct RetryPolicy: Sendable, Equatable {
  /// Delay in milliseconds after the first 5xx answer to a push. Often only a single server gives this answer, so the
  /// first retry follows after this short delay. The delay is never longer than ``serverError``.
  public var firstServerError: Int
  /// Delay in milliseconds after any further 5xx answer. Apple recommends 15 minutes ("Handling notification responses
  /// from APNs").
  public var serverError: Int
  /// Delay in milliseconds after the first 429 answer to a push. The delay doubles with every further attempt.
  public var tooManyRequests: Int
  /// Number of attempts of a push, including the first; at least 1. The number has no effect if the service limits the
  /// time of retries (``RetryBounds/maximumTime``).
  public var attempts: Int
  /// Maximum delay in milliseconds. It also limits doubled delays and the delay of a `Retry-After` header.
  public var longest: Int
  /// Largest share, 0 to 1, by which jitter lengthens a delay. Without jitter, all workers would retry at the same
  /// moment.
  public var jitter: Double
  /// Bounds of the push service; see ``bounded(by:)``.
  public private(set) var bounds = RetryBounds()

  /// Creates an instance with the defaults of the configuration. The default of ``longest``, one hour, is longer than
  /// Apple's 15 minutes and shorter than most expirations.
  public init(
    firstServerError: Int = 5_000, serverError: Int = 900_000, tooManyRequests: Int = 2_000, attempts: Int = 5,
    longest: Int = 3_600_000, jitter: Double = 0.1
  ) {
    self.firstServerError = firstServerError
    self.serverError = serverError
    self.tooManyRequests = tooManyRequests
    self.attempts = attempts
    self.longest = longest
    self.jitter = jitter
  }

  /// Returns the policy with the bounds of a push service.
  public func bounded(by bounds: RetryBounds) -> RetryPolicy {
    var policy = self
    policy.bounds = bounds
    // With shorter delays, the number of attempts within the maximum time could exceed the number that a ledger record
    // can count.
    policy.serverError = max(serverError, policy.timePerAttempt)
    policy.longest = max(longest, policy.timePerAttempt)
    return policy
  }

  /// Returns the milliseconds to wait after a push's first server error.
  ///
  /// - Parameters:
  ///   - asked: the delay of the peer's `Retry-After`; the wait is never shorter.
  ///   - chance: random, 0 to 1.
  public func afterFirstServerError(asked: Int = 0, chance: Double) -> Int {
    wait(plannedAfterServerError(attempt: 1), asked, chance, least: bounds.minimumDelay)
  }

  /// Returns the milliseconds to wait after the second or a further server error of a push.
  ///
  /// - Parameter attempt: the number of the attempt, from 1. It has an effect only if the service's delays grow
  ///   (``RetryBounds/serverErrorFactor``).
  /// - Parameters:
  ///   - asked: the delay of the peer's `Retry-After`; the wait is never shorter.
  ///   - least: the service's minimum delay after this answer. The minimum takes precedence over ``longest``.
  ///   - chance: random, 0 to 1.
  public func afterServerError(attempt: Int = 2, asked: Int = 0, least: Int = 0, chance: Double) -> Int {
    let planned = bounds.serverErrorFactor == nil ? serverError : plannedAfterServerError(attempt: attempt)
    return wait(planned, asked, chance, least: max(bounds.minimumDelay, least))
  }

  /// Returns the milliseconds to wait after an answer with status 429, which means that the device got too many pushes.
  /// The delay doubles with each attempt.
  ///
  /// - Parameters:
  ///   - attempt: the number of the attempt, from 1.
  ///   - asked: the delay of the peer's `Retry-After`; the wait is never shorter.
  ///   - chance: random, 0 to 1.
  public func afterTooManyRequests(attempt: Int, asked: Int = 0, chance: Double) -> Int {
    let least = asked > 0 ? bounds.minimumDelay : bounds.minimumAfterTooManyRequests
    let first = asked > 0 ? tooManyRequests : max(tooManyRequests, least)
    return wait(Self.doubled(first, times: attempt - 1), asked, chance, least: least)
  }

  /// Returns the milliseconds to wait after an attempt without an answer; `nil` to send the push again immediately.
  ///
  /// - Parameters:
  ///   - attempt: the number of the attempt, from 1. A second attempt without an answer indicates a network problem,
  ///     which an immediate retry would make worse.
  ///   - chance: random, 0 to 1.
  public func afterDoubt(attempt: Int, chance: Double) -> Int? {
    let least = bounds.minimumAfterDoubt
    guard attempt > 1 else { return least > 0 ? wait(least, 0, chance, least: least) : nil }
    return wait(Self.doubled(max(tooManyRequests, least), times: attempt - 2), 0, chance, least: least)
  }

  /// Returns the milliseconds for which a target is held because the service refuses all pushes of its campaign or its
  /// credential. The service's bounds do not apply, because the next attempt comes after an operator's repair.
  func whileHeld(chance: Double) -> Int { wait(tooManyRequests, 0, chance, least: 0) }

  // MARK: Giving up

  /// Returns the delay before the next attempt; `nil` to give up.
  ///
  /// A push has a maximum number of attempts. If the service limits the time of retries (``RetryBounds/maximumTime``),
  /// the time counts instead. A delay that would end after this time is shortened, unless it would be shorter than the
  /// service allows.
  ///
  /// - Parameters:
  ///   - delay: the delay according to the answer.
  ///   - asked: the delay of the peer's `Retry-After`; 0 without one.
  ///   - attempt: number of the last attempt, from 1.
  func limited(_ delay: Int, asked: Int, attempt: Int) -> Int? {
    guard let maximumTime = bounds.maximumTime else { return attempt < attempts ? delay : nil }
    let left = maximumTime - (attempt - 1) * timePerAttempt
    if delay <= left { return delay }
    return left >= max(1, asked, bounds.minimumDelay, bounds.minimumAfterTooManyRequests) ? left : nil
  }

  /// Returns the number that an attempt adds to the counted attempts of its target if a retry follows.
  ///
  /// The ledger does not contain the time of the first attempt. If the service limits the time, the number of counted
  /// attempts therefore measures the time since the first attempt: one counted attempt is a sixtieth of the limit. The
  /// result is at least 1.
  ///
  /// - Parameter delay: the delay before the retry.
  func counted(after delay: Int) -> Int {
    timePerAttempt > 0 ? max(1, (delay + timePerAttempt / 2) / timePerAttempt) : 1
  }

  /// Part of ``RetryBounds/maximumTime`` for each counted attempt; 0 if the service does not limit the time. The ledger
  /// can count 63 attempts (``AttemptHistory/maximumCounted``).
  private var timePerAttempt: Int { (bounds.maximumTime ?? 0) / 60 }

  /// Returns the delay after a server error without jitter and `Retry-After`.
  private func plannedAfterServerError(attempt: Int) -> Int {
    let first = min(firstServerError, serverError)
    guard attempt > 1 else { return max(first, bounds.minimumDelay) }
    guard let factor = bounds.serverErrorFactor else { return serverError }
    var delay = max(first, bounds.minimumDelay)
    for _ in 1..<min(attempt, AttemptHistory.maximumCounted) where delay < serverError { delay *= factor }
    return max(min(delay, serverError), bounds.minimumDelay)
  }

  /// Doubles a delay repeatedly, at most 20 times. After 20 times, the result always exceeds `longest`. The result
  /// can't overflow, because the delay is at most a day.
  private static func doubled(_ delay: Int, times: Int) -> Int { delay << max(0, min(times, 20)) }

  /// Returns the milliseconds to wait for a planned delay, with jitter and within all limits.
  ///
  /// - Parameters:
  ///   - asked: delay of a `Retry-After`; 0 without one.
  ///   - least: the service's minimum delay. The minimum takes precedence over `longest`.
  private func wait(_ planned: Int, _ asked: Int, _ chance: Double, least: Int) -> Int {
    let longest = max(least, min(longest, bounds.maximumDelay ?? .max))
    // Jitter lengthens the delay. If `longest` limits the delay, jitter shortens it instead, so that the workers do not
    // retry at the same moment.
    let latest = min(Double(max(planned, asked, least)) * (1 + jitter), Double(longest))
    let earliest = latest / (1 + jitter)
    return max(Int((earliest + chance * (latest - earliest)).rounded()), min(asked, longest), least)
  }
}
