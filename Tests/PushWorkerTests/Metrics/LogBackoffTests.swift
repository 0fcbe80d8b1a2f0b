import TestKit
import Testing

@testable import PushWorker

@Suite struct LogBackoffTests {
  private let second: UInt64 = 1_000_000_000

  @Test func repeatedErrorIsLoggedWithGrowingIntervals() {
    var backoff = LogBackoff()
    var observed: [UInt64] = []
    for tenth in 0..<3000 where backoff.count(UInt64(tenth) * second / 10) != nil {
      observed.append(UInt64(tenth) / 10)
    }
    expect(observed, is: [0, 1, 3, 7, 15, 31, 63, 123, 183, 243])
  }

  @Test func suppressedMessagesAreCounted() {
    var backoff = LogBackoff()
    expect(backoff.count(5), is: 0)
    for _ in 0..<7 { expect(backoff.count(6), is: nil) }
    expect(backoff.count(5 + second), is: 7)
    expect(backoff.count(5 + 4 * second), is: 0)
  }

  @Test func errorAfterAQuietPeriodIsLoggedImmediately() {
    var backoff = LogBackoff()
    for number in 0..<5 { _ = backoff.count(UInt64(number) * 20 * second) }
    expect(backoff.count(1000 * second), is: 0)
    expect(backoff.count(1001 * second), is: 0)
  }
}
