import Dispatch
@testable import EventLoop
import Glibc
import TestKit
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

    /// Adds one in the same way as a C callback: it runs on the loop's queue and enters the actor without a hop.
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
    expect(await counter.count, is: 200)
  }

  @Test func workIsExecutedInOrder() async {
    let loop = EventLoop(label: "test")
    let (numbers, continuation) = AsyncStream.makeStream(of: Int.self)
    for number in 0..<50 { loop.execute { continuation.yield(number) } }
    loop.execute { continuation.finish() }
    var seen: [Int] = []
    for await number in numbers { seen.append(number) }
    expect(seen, is: Array(0..<50))
  }

  private actor Sleeper {
    private let loop: EventLoop
    private var waiter: CheckedContinuation<Int, Never>?
    private(set) var values: [Int] = []

    nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }

    init(on loop: EventLoop) {
      self.loop = loop
    }

    func doze() async {
      values.append(await withCheckedContinuation { waiter = $0 })
    }

    /// - Returns: `false` while no task sleeps.
    func wake() -> Bool {
      guard let waiter else { return false }
      self.waiter = nil
      EventLoop.resuming { waiter.resume(returning: 1) }
      // If the continuation used the thread pool, the sleeper would run after this.
      loop.execute { self.assumeIsolated { $0.values.append(2) } }
      return true
    }
  }

  @Test func continuationResumesOnItsLoopInOrder() async {
    let loop = EventLoop(label: "test")
    for _ in 0..<100 {
      let sleeper = Sleeper(on: loop)
      await withDiscardingTaskGroup { group in
        group.addTask { await sleeper.doze() }
        while await !sleeper.wake() { await Task.yield() }
      }
      expect(await sleeper.values, is: [1, 2])
    }
  }

  @Test func timerFiresOnceAndCanBeArmedAgain() async {
    let loop = EventLoop(label: "test")
    let (ticks, continuation) = AsyncStream.makeStream(of: Void.self)
    let timer = LoopTimer(on: loop) { continuation.yield() }
    var iterator = ticks.makeAsyncIterator()
    for _ in 0..<3 {
      timer.schedule(after: .milliseconds(1))
      expect(await iterator.next() != nil)
    }
    timer.disarm()
  }

  /// Longer than a loop keeps its thread while it is idle.
  private static let untilAway = DispatchTimeInterval.milliseconds(250)

  @Test func timerBringsBackALoopThatHasLeftItsThread() async {
    let loop = EventLoop(label: "test")
    await withCheckedContinuation { continuation in
      loop.execute(after: Self.untilAway) { continuation.resume() }
    }
    // A call also brings the loop back.
    await withCheckedContinuation { continuation in loop.execute { continuation.resume() } }
  }

  @Test func socketBringsBackALoopThatHasLeftItsThread() async throws {
    let (loop, other) = (EventLoop(label: "test"), EventLoop(label: "other"))
    var descriptors: [Int32] = [0, 0]
    try #require(pipe(&descriptors) == 0)
    let (reading, writing) = (descriptors[0], descriptors[1])
    defer { close(writing) }
    let socket = Socket(descriptor: reading)
    let (arrivals, continuation) = AsyncStream.makeStream(of: Void.self)
    let watcher = SocketWatcher(socket, on: loop, onReadable: { continuation.yield() }, onWritable: {})
    other.execute(after: Self.untilAway) { _ = write(writing, "x", 1) }
    var iterator = arrivals.makeAsyncIterator()
    expect(await iterator.next() != nil)
    loop.execute { continuation.finish() }
    while await iterator.next() != nil {}
    watcher.close()
  }

  /// More loops than may wait on threads, and more than Dispatch has threads.
  @Test func threeHundredBusyLoopsAllGetTheirTurn() async {
    let loops = (0..<300).map { EventLoop(label: "test \($0)") }
    let (ticks, continuation) = AsyncStream.makeStream(of: Int.self)
    let timers = loops.enumerated().map { number, loop in
      LoopTimer(on: loop) { continuation.yield(number) }
    }
    for timer in timers { timer.schedule(every: .milliseconds(20)) }
    var left = Set(0..<300).union(300..<600)
    // Each loop ticks twice: by the second tick it has regained a thread.
    for await number in ticks {
      if left.remove(number) == nil { left.remove(number + 300) }
      if left.isEmpty { break }
    }
    for timer in timers { timer.disarm() }
  }

  @Test func alwaysDueTimerLetsOtherWorkRun() async {
    let loop = EventLoop(label: "test")
    let timer = LoopTimer(on: loop) {}
    timer.schedule(every: .nanoseconds(1))
    for _ in 0..<100 {
      await withCheckedContinuation { continuation in loop.execute { continuation.resume() } }
    }
    timer.disarm()
  }

  @Test func wallClockAndMonotonicClockRun() {
    let before = EventLoop.now
    expect(EventLoop.wallClock > 1_700_000_000_000)
    expect(EventLoop.now >= before)
  }
}
