import PushCore
import TestKit
import Testing

/// The delays of a service with bounds, such as FCM: never before 10 s, 60 s after a 429, and not after an hour.
@Suite struct RetryBoundsTests {
  private static let bounds = {
    var bounds = RetryBounds()
    bounds.minimumDelay = 10_000
    bounds.minimumAfterTooManyRequests = 60_000
    bounds.minimumAfterDoubt = 10_000
    bounds.maximumDelay = 3_600_000
    bounds.serverErrorFactor = 4
    bounds.maximumTime = 3_600_000
    return bounds
  }()

  private static func policy(_ policy: RetryPolicy = RetryPolicy()) -> RetryPolicy { policy.bounded(by: bounds) }

  @Test func delaysAfterServerErrorsGrowFromTheMinimum() {
    let policy = Self.policy()
    expect(policy.afterFirstServerError(chance: 0), is: 10_000)
    expect(
      (1...6).map { policy.afterServerError(attempt: $0, chance: 0) },
      is: [10, 40, 160, 640, 900, 900].map { $0 * 1000 })
    // A configured delay above the minimum stays.
    expect(Self.policy(RetryPolicy(firstServerError: 20_000)).afterServerError(attempt: 2, chance: 0), is: 80_000)
    // Without a factor, the delays of the configuration apply.
    let plain = RetryPolicy(firstServerError: 5_000)
    expect((plain.afterFirstServerError(chance: 0), plain.afterServerError(chance: 0)) == (5_000, 900_000))
  }

  @Test func noConfigurationRetriesEarlierThanTheServiceAllows() {
    let hasty = Self.policy(
      RetryPolicy(firstServerError: 1, serverError: 1, tooManyRequests: 1, longest: 5_000, jitter: 0.5))
    for chance in [0, 0.3, 1] {
      for attempt in 1...20 {
        expect(hasty.afterFirstServerError(asked: attempt, chance: chance) >= 10_000)
        expect(hasty.afterServerError(attempt: attempt, chance: chance) >= 10_000)
        expect(hasty.afterTooManyRequests(attempt: attempt, chance: chance) >= 60_000)
        expect(hasty.afterTooManyRequests(attempt: attempt, asked: 1, chance: chance) >= 10_000)
        expect(hasty.afterDoubt(attempt: attempt, chance: chance) ?? 0 >= 10_000)
      }
    }
  }

  @Test func retryAfterIsObeyedWithinTheServicesRange() {
    let policy = Self.policy(RetryPolicy(longest: 86_400_000, jitter: 0))
    // Seconds of `Retry-After`, and the delays after 503 and after 429.
    let rows = [(0, 10, 60), (3, 10, 10), (30, 30, 30), (300, 300, 300), (40_000, 3600, 3600)]
    for (asked, afterServerError, afterTooMany) in rows {
      expect(policy.afterFirstServerError(asked: asked * 1000, chance: 0), is: afterServerError * 1000)
      expect(policy.afterTooManyRequests(attempt: 1, asked: asked * 1000, chance: 0), is: afterTooMany * 1000)
    }
  }

  @Test func pushInDoubtIsSentAgainAfterADelay() {
    expect(RetryPolicy().afterDoubt(attempt: 1, chance: 0), is: nil)
    expect(RetryPolicy().afterDoubt(attempt: 2, chance: 0), is: 2_000)
    expect((1...4).map { Self.policy().afterDoubt(attempt: $0, chance: 0) }, is: [10_000, 10_000, 20_000, 40_000])
  }
}
