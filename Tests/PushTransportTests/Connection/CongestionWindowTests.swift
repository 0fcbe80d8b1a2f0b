import TestKit
import Testing

@testable import APNs
@testable import PushTransport

@Suite("Congestion window")
struct CongestionWindowTests {
  private let millisecond: UInt64 = 1_000_000

  /// Simulates one round trip: a full window of answers at the same time. Only the last answer belongs to a push that
  /// was sent after the beginning of the round, so it ends the round.
  private func round(
    _ window: inout CongestionWindow, _ signal: CongestionWindow.Signal = .accepted, at now: inout UInt64,
    latency: UInt64 = 10, rejected: Int = 0
  ) {
    let began = now
    let width = window.limit
    now += latency * millisecond
    for left in (1...width).reversed() {
      window.record(
        left <= rejected ? .rejected : signal, sentAt: left == 1 ? began : began &- 1, now: now, inFlight: left,
        waiting: 0)
    }
  }

  /// Returns a window that has grown to a thousand in round trips of `latency` milliseconds.
  private func grown(at now: inout UInt64, latency: UInt64 = 10) -> CongestionWindow {
    var window = CongestionWindow(maximum: 1000)
    while window.limit < 1000 { round(&window, at: &now, latency: latency) }
    return window
  }

  @Test("starts with one push, has sixteen after its acceptance, and doubles each round up to its maximum")
  func slowStart() {
    var window = CongestionWindow(maximum: 1000)
    var now: UInt64 = 0
    var limits = [window.limit]
    for _ in 0..<9 {
      round(&window, at: &now)
      limits.append(window.limit)
    }
    expect(limits, is: [1, 16, 32, 64, 128, 256, 512, 1000, 1000, 1000])
  }

  @Test("a fixed window keeps its width from the first acceptance on")
  func fixed() {
    var window = CongestionWindow(fixed: 200)
    var now: UInt64 = 0
    round(&window, .rejected, at: &now)
    expect(window.limit, is: 1)
    round(&window, at: &now)
    expect(window.limit, is: 200)
    for _ in 0..<10 { round(&window, .failed, at: &now, latency: 3000) }
    expect(window.limit, is: 200)
  }

  @Test("rejections of single pushes do not change it, and do not stop other answers from widening it")
  func rejections() {
    var window = CongestionWindow(maximum: 1000)
    var now: UInt64 = 0
    for _ in 0..<5 { round(&window, .rejected, at: &now) }
    expect(window.limit, is: 1)
    for _ in 0..<5 { round(&window, at: &now) }
    expect(window.limit, is: 256)
    for _ in 0..<50 { round(&window, .rejected, at: &now) }
    expect(window.limit, is: 256)
    for _ in 0..<2 { round(&window, at: &now, rejected: 250) }
    expect(window.limit, is: 1000)
  }

  @Test("a window that is not filled is not widened")
  func idle() {
    var window = CongestionWindow(maximum: 1000)
    var now: UInt64 = 0
    for _ in 0..<1000 {
      window.record(.accepted, sentAt: now, now: now + 10 * millisecond, inFlight: 1, waiting: 0)
      now += 10 * millisecond
    }
    expect(window.limit, is: 16)
  }

  @Test("a round of failures halves it once; growth then begins slowly and doubles")
  func failures() {
    var now: UInt64 = 0
    var window = grown(at: &now)
    round(&window, .failed, at: &now)
    expect(window.limit, is: 500)
    var limits: [Int] = []
    for _ in 0..<8 {
      round(&window, at: &now)
      limits.append(window.limit)
    }
    expect(limits, is: limits.sorted())
    expect(limits[0] < 540)
    expect(limits[7], is: 1000)
  }

  @Test("server errors narrow it to one, never to zero")
  func busy() {
    var now: UInt64 = 0
    var window = grown(at: &now)
    for _ in 0..<30 { round(&window, .busy, at: &now) }
    expect(window.limit, is: 1)
    for _ in 0..<20 { round(&window, at: &now) }
    expect(window.limit, is: 1000)
  }

  @Test("a few errors are noise, many narrow it", arguments: [(429, 10), (429, 5), (503, 100), (0, 20)])
  func noise(status: Int, every: Int) {
    let error: CongestionWindow.Signal = status == 429 ? .throttled : status == 503 ? .busy : .failed
    var now: UInt64 = 0
    var window = grown(at: &now)
    for index in 0..<20_000 {
      now += millisecond / 100
      let signal = index % every == 0 ? error : .accepted
      window.record(signal, sentAt: now - 10 * millisecond, now: now, inFlight: 1000, waiting: 0)
    }
    expect(window.limit, is: 1000)
    for _ in 0..<20_000 {
      now += millisecond / 100
      window.record(error, sentAt: now - 10 * millisecond, now: now, inFlight: window.limit, waiting: 0)
    }
    expect(window.limit < 10)
  }

  @Test("a new connection starts with one push again, and then has half of the last width")
  func reset() {
    var now: UInt64 = 0
    var window = grown(at: &now)
    window.reset()
    expect(window.limit, is: 1)
    round(&window, .rejected, at: &now)
    expect(window.limit, is: 1)
    // A new connection without an answer does not change the limit either.
    window.reset()
    // If the new connection has a longer round-trip time than the last one, the longer time counts only for the new
    // one.
    round(&window, at: &now, latency: 800)
    expect(window.limit, is: 500)
    round(&window, at: &now, latency: 800)
    expect(window.limit, is: 1000)
  }

  @Test("late answers stop its growth immediately")
  func late() {
    var window = CongestionWindow(maximum: 1000)
    var now: UInt64 = 0
    for _ in 0..<3 { round(&window, at: &now, latency: 20) }
    expect(window.limit, is: 64)
    round(&window, at: &now, latency: 90)
    expect(window.limit, is: 64)
  }

  @Test("a complete stall of two seconds costs no more than the two seconds")
  func stall() {
    var now: UInt64 = 0
    var window = grown(at: &now)
    round(&window, at: &now, latency: 2000)
    round(&window, at: &now, latency: 2000)
    expect(window.limit, is: 1000)
    round(&window, at: &now)
    expect(window.limit, is: 1000)
  }

  @Test("a longer round-trip time is measured with a narrow window for two rounds; then the window is restored")
  func longerWay() {
    var now: UInt64 = 0
    var window = grown(at: &now, latency: 20)
    var limits: [Int] = []
    for _ in 0..<8 {
      round(&window, at: &now, latency: 300)
      limits.append(window.limit)
    }
    expect(limits, is: [1000, 1000, 250, 250, 1000, 1000, 1000, 1000])
    // A shorter round-trip time is adopted immediately.
    round(&window, at: &now, latency: 20)
    for _ in 0..<3 { round(&window, at: &now, latency: 100) }
    expect(window.limit, is: 1000)
  }

  @Test("libcurl queues a few pushes beyond the peer's limit, and gets all when the limit rises")
  func room() {
    var now: UInt64 = 0
    let window = grown(at: &now)
    expect(window.room(inFlight: 0, waiting: 0), is: 4)
    expect(window.room(inFlight: 5, waiting: 4), is: 0)
    expect(window.room(inFlight: 1000, waiting: 0), is: 0)
    expect(window.room(inFlight: 990, waiting: 0), is: 10)
    expect(window.room(inFlight: 500, waiting: 32), is: 0)
    var turns = 0
    var inFlight = 4
    while inFlight < 1000 {
      inFlight += window.room(inFlight: inFlight, waiting: 0)
      turns += 1
    }
    expect(turns < 40)
    expect(CongestionWindow(maximum: 1000).room(inFlight: 0, waiting: 0), is: 1)
    expect(CongestionWindow(maximum: 1000).room(inFlight: 1, waiting: 1), is: 0)
  }
}
