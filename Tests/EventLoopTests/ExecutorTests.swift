import Dispatch
import TestKit
import Testing

/// The executor on which an actor continues after it has called an asynchronous function of one of its parts.
///
/// Such a function is not isolated: it runs where its caller runs, and its caller must continue there. The optimizer of
/// Swift 6.3.1 breaks this rule in several places, so `Package.swift` disables one of its passes. Without the flag,
/// two functions fail in a debug build, and ten in a release build.
@Suite struct ExecutorTests {
  private struct Refused: Error {}

  private actor Other {
    private(set) var calls = 0
    func call() { calls += 1 }
    func refuse() throws { throw Refused() }
  }

  @concurrent @inline(never) private static func compute(refusing refuses: Bool) async throws -> Int {
    if refuses { throw Refused() }
    return 1
  }

  /// A part of an actor: not `Sendable` and not isolated.
  private final class Part {
    private let other = Other()
    private var sum = 0

    @inline(never) func sleepBriefly() async { try? await Task.sleep(for: .zero) }
    @inline(never) func sleepThrowing() async throws { try await Task.sleep(for: .zero) }
    @inline(never) func yieldOnce() async { await Task.yield() }
    @inline(never) func callOther() async { await other.call() }
    @inline(never) func letOtherRefuse() async throws { try await other.refuse() }
    @inline(never) func value() async throws -> Int { try await ExecutorTests.compute(refusing: false) }
    @inline(never) func throwing() async throws -> Int { try await ExecutorTests.compute(refusing: true) }
    @inline(never) func nested() async throws -> Int { try await throwing() }
    @inline(never) func branch(_ condition: Bool) async throws -> Int {
      if condition { return try await ExecutorTests.compute(refusing: false) }
      return 0
    }
    @inline(never) func loop() async throws -> Int {
      for _ in 0..<3 { sum += try await ExecutorTests.compute(refusing: false) }
      return sum
    }
    @inline(never) func call(_ body: () async throws -> Int) async throws -> Int { try await body() }
    @inline(never) func suspend() async {
      await withCheckedContinuation { continuation in Task { continuation.resume() } }
    }
  }

  private final class Queue: SerialExecutor {
    private let queue = DispatchQueue(label: "host")
    private let key = DispatchSpecificKey<Bool>()

    init() { queue.setSpecific(key: key, value: true) }

    var isCurrent: Bool { DispatchQueue.getSpecific(key: key) ?? false }

    func enqueue(_ job: consuming ExecutorJob) {
      let job = UnownedJob(job)
      queue.async { job.runSynchronously(on: self.asUnownedSerialExecutor()) }
    }
  }

  private actor Host {
    private let queue = Queue()
    private let part = Part()

    nonisolated var unownedExecutor: UnownedSerialExecutor { queue.asUnownedSerialExecutor() }

    /// Returns the names of the functions after which the actor continues outside its queue.
    func functionsThatLeaveTheQueue() async -> [String] {
      var left: [String] = []
      func check(_ name: String) { if !queue.isCurrent { left.append(name) } }
      await part.sleepBriefly()
      check("sleepBriefly")
      try? await part.sleepThrowing()
      check("sleepThrowing")
      await part.yieldOnce()
      check("yieldOnce")
      await part.callOther()
      check("callOther")
      try? await part.letOtherRefuse()
      check("letOtherRefuse")
      _ = try? await part.value()
      check("value")
      _ = try? await part.throwing()
      check("throwing")
      _ = try? await part.nested()
      check("nested")
      _ = try? await part.branch(true)
      check("branch")
      _ = try? await part.loop()
      check("loop")
      _ = try? await part.call { try await ExecutorTests.compute(refusing: false) }
      check("call")
      _ = try? await part.call { try await ExecutorTests.compute(refusing: true) }
      check("call throwing")
      await part.suspend()
      check("suspend")
      return left
    }
  }

  @Test func callerContinuesOnItsQueue() async {
    expect(await Host().functionsThatLeaveTheQueue(), is: [])
  }
}
