import Testing

@testable import APNs

@Suite("Congestion window")
struct CongestionWindowTests {
  private let millisecond: UInt64 = 1_000_000

  /// One round trip: as many answers as the window is wide.
  private func round(
    _ window: inout CongestionWindow, _ signal: CongestionWindow.Signal, at now: inout UInt64, latency: UInt64 = 10
  ) {
    let started = now
    now += latency * millisecond
    for _ in 0..<window.limit { window.note(signal, startedAt: started, now: now) }
  }

  @Test("starts with one push and doubles with each round of acceptances, up to its maximum")
  func slowStart() {
    var window = CongestionWindow(maximum: 1000)
    var now: UInt64 = 0
    var limits = [window.limit]
    for _ in 0..<11 {
      round(&window, .accepted, at: &now)
      limits.append(window.limit)
    }
    #expect(limits == [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1000, 1000])
  }

  @Test("rejections of single pushes neither widen nor narrow it")
  func rejections() {
    var window = CongestionWindow(maximum: 1000)
    var now: UInt64 = 0
    for _ in 0..<5 { round(&window, .rejected, at: &now) }
    #expect(window.limit == 1)
    for _ in 0..<5 { round(&window, .accepted, at: &now) }
    for _ in 0..<50 { round(&window, .rejected, at: &now) }
    #expect(window.limit == 32)
  }

  @Test("a round of failures cuts it once, by half, and from there it grows slowly")
  func failures() {
    var window = CongestionWindow(maximum: 1000)
    var now: UInt64 = 0
    for _ in 0..<7 { round(&window, .accepted, at: &now) }
    #expect(window.limit == 128)
    let started = now
    now += millisecond
    for _ in 0..<128 { window.note(.failed, startedAt: started, now: now) }
    #expect(window.limit == 64)
    now += millisecond
    round(&window, .accepted, at: &now)
    #expect(window.limit == 64 + 4)
  }

  @Test("a server in trouble narrows it to one, never to none")
  func busy() {
    var window = CongestionWindow(maximum: 1000)
    var now: UInt64 = 0
    for _ in 0..<7 { round(&window, .accepted, at: &now) }
    for _ in 0..<20 {
      now += millisecond
      round(&window, .busy, at: &now)
    }
    #expect(window.limit == 1)
  }

  @Test("a few 429 are devices that got too much, many are a storm")
  func throttling() {
    var window = CongestionWindow(maximum: 1000)
    var now: UInt64 = 0
    for _ in 0..<7 { round(&window, .accepted, at: &now) }
    for index in 0..<2000 {
      now += millisecond
      window.note(index % 10 == 0 ? .throttled : .accepted, startedAt: now - millisecond, now: now)
    }
    #expect(window.limit == 1000)
    for _ in 0..<1000 {
      now += millisecond
      window.note(.throttled, startedAt: now - millisecond / 2, now: now)
    }
    #expect(window.limit < 10)
  }

  @Test("a new connection starts with one push again")
  func reset() {
    var window = CongestionWindow(maximum: 1000)
    var now: UInt64 = 0
    for _ in 0..<8 { round(&window, .accepted, at: &now) }
    #expect(window.limit == 256)
    window.reset()
    #expect(window.limit == 1)
    for _ in 0..<8 { round(&window, .accepted, at: &now) }
    #expect(window.limit == 256)
    round(&window, .accepted, at: &now)
    #expect(window.limit == 256 + 16)
  }

  @Test("answers that take much longer than the best stop its growth, then narrow it")
  func latency() {
    var window = CongestionWindow(maximum: 1000)
    var now: UInt64 = 0
    for _ in 0..<5 { round(&window, .accepted, at: &now, latency: 20) }
    #expect(window.limit == 32)
    for _ in 0..<5 { round(&window, .accepted, at: &now, latency: 120) }
    let raised = window.limit
    #expect(raised <= 64)
    for _ in 0..<3 { round(&window, .accepted, at: &now, latency: 1000) }
    #expect(window.limit < raised)
  }
}
