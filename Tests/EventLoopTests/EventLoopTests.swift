import Dispatch
import EventLoop
import Testing

/// The loop as an executor, and its timers.
@Suite struct EventLoopTests {
  private actor Counter {
    private let loop: EventLoop
    private(set) var count = 0

    nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }

    init(on loop: EventLoop) {
      self.loop = loop
    }

    func add() { count += 1 }

    /// What a C callback does: it fires on the loop's queue and enters the actor without a hop.
    nonisolated func addFromCallback() {
      loop.execute { self.assumeIsolated { $0.add() } }
    }
  }

  @Test func actorRunsOnItsLoopAndCallbacksEnterIt() async {
    let loop = EventLoop(label: "test")
    let counter = Counter(on: loop)
    await withDiscardingTaskGroup { group in
      for _ in 0..<100 { group.addTask { await counter.add() } }
    }
    for _ in 0..<100 { counter.addFromCallback() }
    // Serial: this runs after all of them.
    #expect(await counter.count == 200)
  }

  @Test func workIsExecutedInOrder() async {
    let loop = EventLoop(label: "test")
    let (numbers, continuation) = AsyncStream.makeStream(of: Int.self)
    for number in 0..<50 { loop.execute { continuation.yield(number) } }
    loop.execute { continuation.finish() }
    var seen: [Int] = []
    for await number in numbers { seen.append(number) }
    #expect(seen == Array(0..<50))
  }

  @Test func timerFiresOnceAndCanBeArmedAgain() async {
    let loop = EventLoop(label: "test")
    let (ticks, continuation) = AsyncStream.makeStream(of: Void.self)
    let timer = LoopTimer(on: loop) { continuation.yield() }
    var iterator = ticks.makeAsyncIterator()
    for _ in 0..<3 {
      timer.schedule(after: .milliseconds(1))
      #expect(await iterator.next() != nil)
    }
    timer.disarm()
  }

  @Test func wallClockAndMonotonicClockRun() {
    let before = EventLoop.now
    #expect(EventLoop.wallClock > 1_700_000_000_000)
    #expect(EventLoop.now >= before)
  }
}
