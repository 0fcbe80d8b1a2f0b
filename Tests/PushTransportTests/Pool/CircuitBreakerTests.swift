import PushCore
import TestKit
import TestSupport
import Testing

@testable import APNs
@testable import PushTransport

@Suite("Circuit breaker")
struct CircuitBreakerTests {
  private let second: UInt64 = 1_000_000_000
  private let start: UInt64 = 1_000_000_000_000

  /// Returns a breaker that has just opened at `start`.
  private func opened() -> CircuitBreaker {
    var breaker = CircuitBreaker()
    feed(&breaker, .unavailable, CircuitBreaker.minimumAnswers)
    return breaker
  }

  private func feed(_ breaker: inout CircuitBreaker, _ signal: CircuitBreaker.Signal, _ count: Int) {
    for _ in 0..<count { _ = breaker.record(signal, tag: 0, now: start, jitter: 1) }
  }

  @Test("a few 503 leave it closed, twenty in a row open it")
  func opens() {
    var breaker = CircuitBreaker()
    feed(&breaker, .unavailable, CircuitBreaker.minimumAnswers - 1)
    expect(breaker.state, is: .closed)
    expect(breaker.record(.unavailable, tag: 0, now: start, jitter: 1), is: true)
    expect(breaker.state, is: .open(until: start + 2 * second))
    expect(breaker.openings, is: 1)
  }

  @Test("after many acceptances it opens if half of the latest answers are 503")
  func share() {
    var breaker = CircuitBreaker()
    feed(&breaker, .answered, 100_000)
    feed(&breaker, .unavailable, CircuitBreaker.unavailableToOpen - 1)
    expect(breaker.state, is: .closed)
    feed(&breaker, .unavailable, 1)
    expect(breaker.state != .closed)
  }

  @Test("one 503 in three never opens it, nor do 500, Shutdown or pushes without an answer")
  func stays() {
    var breaker = CircuitBreaker()
    for _ in 0..<1000 {
      feed(&breaker, .unavailable, 1)
      feed(&breaker, .answered, 2)
    }
    feed(&breaker, .failed, 1000)
    feed(&breaker, .silent, 1000)
    expect(breaker.state, is: .closed)
    expect(breaker.openings, is: 0)
  }

  @Test(
    "the service decides which server errors count as 503",
    arguments: [
      (503, Reason.none, CircuitBreaker.Signal.unavailable), (503, .serviceUnavailable, .unavailable),
      (503, .shutdown, .failed), (500, .internalServerError, .failed), (502, .none, .failed), (504, .none, .failed),
      (429, .tooManyRequests, .answered),
    ])
  func signals(status: Int, reason: Reason, signal: CircuitBreaker.Signal) {
    let answer = PushAnswer(kind: .answered, status: UInt16(status), reason: reason.code)
    expect(CircuitBreaker.Signal(answer, of: APNsService()), is: signal)
  }

  @Test("while it is open, answers to earlier pushes change nothing")
  func latecomers() {
    var breaker = opened()
    let before = breaker
    feed(&breaker, .answered, 100)
    feed(&breaker, .unavailable, 100)
    expect(breaker, is: before)
    breaker.beginTrial(tag: 7)
    expect(breaker.record(.answered, tag: 8, now: start, jitter: 1), is: false)
    expect(breaker.state, is: .halfOpen(tag: 7))
    expect(breaker.untilTrial(now: start), is: nil)
  }

  @Test("the wait ends in time, and half of it is random")
  func waits() {
    var breaker = CircuitBreaker()
    for _ in 0..<CircuitBreaker.minimumAnswers { _ = breaker.record(.unavailable, tag: 0, now: start, jitter: 0) }
    expect(breaker.untilTrial(now: start), is: second)
    expect(breaker.untilTrial(now: start + second), is: 0)
    expect(opened().untilTrial(now: start), is: 2 * second)
  }

  @Test("a failed trial push doubles the wait up to a minute; no answer keeps it; any other answer closes")
  func trials() {
    var breaker = opened()
    var waits: [UInt64] = []
    for signal in [CircuitBreaker.Signal.unavailable, .silent, .failed, .unavailable, .unavailable, .unavailable] {
      breaker.beginTrial(tag: 1)
      expect(breaker.record(signal, tag: 1, now: start, jitter: 1), is: true)
      waits.append((breaker.untilTrial(now: start) ?? 0) / second)
    }
    expect(waits, is: [4, 4, 8, 16, 32, 60])
    breaker.beginTrial(tag: 2)
    expect(breaker.record(.answered, tag: 2, now: start, jitter: 1), is: true)
    expect(breaker.state, is: .closed)
    // The answers before the opening and the length of the outage are forgotten.
    feed(&breaker, .unavailable, CircuitBreaker.minimumAnswers - 1)
    expect(breaker.state, is: .closed)
    feed(&breaker, .unavailable, 1)
    expect(breaker.untilTrial(now: start), is: 2 * second)
    expect(breaker.openings, is: 2)
  }

  @Test("random events: it lets at most one push through until it closes, and finally always one")
  func random() {
    var random = Seed("circuit breaker")
    var breaker = CircuitBreaker()
    var now = start
    var underWay: UInt64?
    var next: UInt64 = 1
    for _ in 0..<100_000 {
      if breaker.state != .closed {
        switch breaker.untilTrial(now: now) {
        case nil: expect(underWay != nil)
        case 0:
          expect(underWay, is: nil)
          breaker.beginTrial(tag: next)
          underWay = next
          next += 1
        case let wait?:
          expect(underWay, is: nil)
          expect(wait <= 60 * second)
          now += wait
        }
      }
      let signals: [CircuitBreaker.Signal] = [.answered, .unavailable, .unavailable, .unavailable, .failed, .silent]
      let signal = signals.randomElement(using: &random) ?? .answered
      let tag = Bool.random(using: &random) ? underWay ?? 0 : 0
      _ = breaker.record(signal, tag: tag, now: now, jitter: .random(in: 0...1, using: &random))
      if tag != 0 { underWay = nil }
    }
    expect(breaker.openings > 10)
  }
}
