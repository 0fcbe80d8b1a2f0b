import TestKit
import Testing

@testable import APNs
@testable import PushTransport

@Suite("Reconnect budget")
struct ReconnectBudgetTests {
  private let second: UInt64 = 1_000_000_000
  private let start: UInt64 = 1_000_000_000_000

  /// Opens connections as often as allowed for `seconds`. `then` decides the result of each connection.
  private func openings(
    in seconds: UInt64, _ budget: inout ReconnectBudget, then: (inout ReconnectBudget, UInt64) -> Void
  ) -> [UInt64] {
    var now = start
    var openings: [UInt64] = []
    while now < start + seconds * second {
      switch budget.request(now: now, jitter: 0.5) {
      case .open:
        openings.append(now)
        then(&budget, now)
      case .wait(let delay):
        expect(delay > 0)
        now += delay
      }
    }
    return openings
  }

  @Test("connections are opened with a pause in between")
  func spacing() {
    var budget = ReconnectBudget(now: start)
    expect(budget.request(now: start, jitter: 0.5), is: .open)
    expect(budget.request(now: start, jitter: 0.5), is: .wait(2 * second))
    expect(budget.request(now: start + 2 * second, jitter: 0), is: .open)
    expect(budget.request(now: start + 2 * second, jitter: 0), is: .wait(second))
  }

  @Test("an accepted push on the newest connection lets the next one open immediately")
  func established() {
    var budget = ReconnectBudget(now: start)
    expect(budget.request(now: start, jitter: 0.5), is: .open)
    budget.established(now: start + 1)
    expect(budget.request(now: start + 1, jitter: 0.5), is: .open)
  }

  @Test("failures double the pause, up to a minute")
  func backoff() {
    var budget = ReconnectBudget(now: start)
    let times = openings(in: 600, &budget) { $0.failed(now: $1, jitter: 1) }
    let pauses = zip(times.dropFirst(), times).map { ($0 - $1) / second }
    expect(pauses.prefix(6), is: [2, 2, 4, 8, 16, 32])
    expect(pauses.dropFirst(6).allSatisfy { $0 == 60 })
  }

  @Test("connections that work but end immediately are opened no faster than the budget")
  func endsImmediately() {
    var budget = ReconnectBudget(now: start)
    let times = openings(in: 60, &budget) { $0.established(now: $1) }
    // Eight connections open in a burst, then one every five seconds.
    expect(times.count, is: 8 + 11)
    expect(times.prefix(8).allSatisfy { $0 == start })
  }

  @Test("a minor pool gets half of a burst, and the others the rest")
  func minor() {
    var budget = ReconnectBudget(now: start)
    func open(isMinor: Bool) -> Int {
      var opened = 0
      while budget.request(now: start, jitter: 0, isMinor: isMinor) == .open {
        budget.established(now: start)
        opened += 1
      }
      return opened
    }
    expect(open(isMinor: true), is: 4)
    expect(budget.request(now: start, jitter: 0, isMinor: true), is: .wait(5 * second))
    expect(open(isMinor: false), is: 4)
  }

  @Test("after a quiet time the whole burst is available again")
  func refill() {
    var budget = ReconnectBudget(now: start)
    _ = openings(in: 1, &budget) { $0.established(now: $1) }
    var later = budget
    var opened = 0
    while later.request(now: start + 3600 * second, jitter: 0) == .open {
      later.established(now: start + 3600 * second)
      opened += 1
    }
    expect(opened, is: 8)
  }

  @Test("accepted pushes pay for the next connection in full or in part, at most for a burst")
  func achievements() {
    var budget = ReconnectBudget(now: start)
    let per = ReconnectBudget.acceptedPerOpening
    var open = 0
    // Each connection ends after 700 pushes.
    for step in 0..<100 {
      let now = start + UInt64(step)
      if budget.request(now: now, jitter: 0.5) == .open { open += 1 }
      budget.established(now: now)
      budget.ended(accepted: 700)
    }
    expect(open, is: 100)
    // The pushes pay half of the cost of a connection, so they pay for every second one. Eight more are saved up.
    open = 0
    for step in 100..<200 {
      let now = start + UInt64(step)
      if budget.request(now: now, jitter: 0.5) == .open {
        open += 1
        budget.ended(accepted: per / 2)
      }
      budget.established(now: now)
    }
    expect((14...17).contains(open), "\(open)")
  }
}
