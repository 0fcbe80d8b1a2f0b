import Admin
import Dispatch
import Synchronization
import TestKit
import TestSupport
import Testing

/// The thread pool for long computations of requests.
@Suite(.timeLimit(.minutes(6))) struct ComputePoolTests {
  /// A computation that blocks its thread until the test releases it.
  private final class Block: Sendable {
    private let gate = DispatchSemaphore(value: 0)
    let (begun, begin) = AsyncStream.makeStream(of: Void.self)

    /// Synchronous, so the thread waits.
    func hold() {
      begin.yield()
      gate.wait()
    }

    func release() { gate.signal() }
    func hasBegun() async { _ = await begun.first { _ in true } }
  }

  /// Log of events, in their order.
  private final class Log: Sendable {
    private let lines = Mutex<[String]>([])

    func add(_ line: String) { lines.withLock { $0.append(line) } }
    var all: [String] { lines.withLock { $0 } }
  }

  @Test("busy compute threads do not delay the server")
  func elsewhere() async throws {
    let pool = ComputePool(lanes: 2)
    let blocks = [Block(), Block()]
    try await withThrowingTaskGroup(of: Void.self) { group in
      for (number, block) in blocks.enumerated() {
        group.addTask { try await pool.run(for: "token \(number)") { block.hold() } }
        await block.hasBegun()
      }
      // More tasks than threads for tasks.
      await withTaskGroup(of: Int.self) { others in
        for number in 0..<64 { others.addTask { number } }
        expect(await others.reduce(0, +), is: 2016)
      }
      for block in blocks { block.release() }
      try await group.waitForAll()
    }
  }

  @Test("one token can't use the last thread")
  func fairness() async throws {
    let pool = ComputePool(lanes: 2)
    let (first, second) = (Block(), Block())
    let log = Log()
    async let one: Void = pool.run(for: "greedy") {
      first.hold()
      log.add("greedy")
    }
    await first.hasBegun()
    async let two: Void = pool.run(for: "greedy") {
      second.hold()
      log.add("greedy again")
    }
    try await pool.run(for: "other") { log.add("other") }
    first.release()
    await second.hasBegun()
    second.release()
    _ = try await (one, two)
    expect(log.all, is: ["other", "greedy", "greedy again"])
  }

  @Test("a request beyond the queue's limit is refused with Retry-After, and the queued ones are served")
  func full() async throws {
    let pool = ComputePool(lanes: 2)
    let block = Block()
    let served = Log()
    try await withThrowingTaskGroup(of: Bool.self) { group in
      group.addTask {
        try await pool.run(for: "greedy") { block.hold() }; return true
      }
      await block.hasBegun()
      for _ in 0..<20 {
        group.addTask {
          do {
            try await pool.run(for: "greedy") { served.add("served") }
            return true
          } catch let problem as Problem {
            expect(problem.status == 503 && problem.headers["Retry-After"] == "5")
            return false
          }
        }
      }
      // The pool refuses twelve of twenty requests; no other request returns before the release.
      for _ in 0..<12 { expect(try await group.next(), is: false) }
      block.release()
      while let isServed = try await group.next() { expect(isServed) }
    }
    expect(served.all.count, is: 8)
  }

  @Test("a request that exceeds the time limit is answered and cancelled; its thread is free after its end")
  func timeout() async throws {
    let pool = ComputePool(lanes: 2, timeout: .milliseconds(20))
    let block = Block()
    let (ended, end) = AsyncStream.makeStream(of: Bool.self)
    let problem = await #expect(throws: Problem.self) {
      try await pool.run(for: "a") {
        block.hold()
        end.yield(Task.isCancelled)
      }
    }
    expect(problem?.status == 503 && problem?.detail.contains("took longer") == true)
    block.release()
    expect(await ended.first { _ in true }, is: true)
    // The only thread of the pool becomes free again.
    try await poll(until: "the thread is free", every: .milliseconds(1)) { (try? await pool.run(for: "a", {})) != nil }
  }

  @Test("the request of a client that has left is not computed")
  func cancellation() async throws {
    let pool = ComputePool(lanes: 2)
    let block = Block()
    let (ended, end) = AsyncStream.makeStream(of: Bool.self)
    let running = Task {
      try await pool.run(for: "a") {
        block.hold()
        end.yield(Task.isCancelled)
      }
    }
    await block.hasBegun()
    let log = Log()
    let waiting = Task { try await pool.run(for: "a") { log.add("was run") } }
    for task in [waiting, running] {
      task.cancel()
      await #expect(throws: CancellationError.self) { try await task.value }
    }
    block.release()
    expect(await ended.first { _ in true }, is: true)
    try await pool.run(for: "a") {}
    expect(log.all.isEmpty)
  }
}
