import TestKit
import TestSupport
import Testing

@testable import Redis

@Suite struct BackoffTests {
  private let backoff = Backoff(base: .milliseconds(50), cap: .seconds(5))

  @Test(arguments: [(0, 50), (1, 100), (6, 3200), (7, 5000), (1_000_000, 5000)])
  func ceilingDoublesUpToTheCap(attempt: Int, milliseconds: Int) {
    expect(backoff.ceiling(attempt: attempt), is: .milliseconds(milliseconds))
  }

  @Test func delaysFillTheWholeRange() {
    var seed = Seed("BackoffTests")
    let delays = (0..<1000).map { _ in backoff.delay(attempt: 3, using: &seed) }
    expect(delays.allSatisfy { $0 >= .zero && $0 <= .milliseconds(400) })
    expect(delays.contains { $0 < .milliseconds(40) } && delays.contains { $0 > .milliseconds(360) })
  }

  @Test func durationsOfAnySizeAreNanoseconds() {
    expect(Duration.seconds(-1).wholeNanoseconds, is: 0)
    expect(Duration.microseconds(3).wholeNanoseconds, is: 3000)
    expect(Duration.seconds(Int64.max).wholeNanoseconds < UInt64(Int64.max))
  }
}
