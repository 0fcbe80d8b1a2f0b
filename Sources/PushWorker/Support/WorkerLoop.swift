import Dispatch
import EventLoop

/// The actor that runs the tasks and callbacks of a ``WorkerLoop``.
protocol WorkerLoopHost: Actor {
  /// Runs the task with this number.
  func runTask(_ number: Int) async
  /// Opens a task group and runs the body with this number in it.
  func runGroup(_ number: Int) async
  /// Calls the callback with this number.
  func runCallback(_ number: Int, _ value: any Sendable)
}

/// Starts tasks and timers of a worker's parts on the worker's loop. Confined to that loop.
///
/// The parts are not `Sendable`, so their closures must not leave the loop. This class therefore stores the closures by
/// number. A task or timer passes the number to the actor, which calls the closure. A task is enqueued on the loop
/// immediately, like a task that an actor's method starts.
///
/// An async method of a part runs where its caller runs: on the loop. Swift 6.3.1 breaks this rule without a diagnostic
/// in these places, so a debug build checks the loop in ``check()``:
///
/// - An async closure with a capture list runs on the global executor. Write closures without a capture list.
/// - The body of a task group that a part opens runs on the global executor. Use ``withGroup(_:)``.
/// - The body of a cancellation handler that a part opens runs on the global executor. Open it in the actor.
/// - The body of a task group that the actor opens runs on the actor only if the body uses `self`.
///
/// An optimization pass of the compiler breaks the rule too. `Package.swift` disables this pass.
final class WorkerLoop {
  private let events: EventLoop
  private weak var host: (any WorkerLoopHost)?
  private var tasks: [Int: () async -> Void] = [:]
  private var groups: [Int: (inout DiscardingTaskGroup) async -> Void] = [:]
  private var callbacks: [Int: (any Sendable) -> Void] = [:]
  private var lastNumber = 0

  init(_ events: EventLoop) {
    self.events = events
  }

  /// Attaches the actor. Nothing starts before this call.
  func attach(_ host: any WorkerLoopHost) { self.host = host }

  // MARK: For parts

  /// Starts a task that no caller waits for. It must not be used for each push.
  func start(_ body: @escaping () async -> Void) {
    guard let host else { return }
    Self.start(add(body), on: host)
  }

  /// Starts a task of a group.
  func start(in group: inout DiscardingTaskGroup, _ body: @escaping () async -> Void) {
    guard let host else { return }
    let number = add(body)
    group.addTask { await host.runTask(number) }
  }

  /// Runs a body with a task group, and returns when all tasks of the group have ended.
  func withGroup(_ body: @escaping (inout DiscardingTaskGroup) async -> Void) async {
    guard let host else { return }
    lastNumber += 1
    groups[lastNumber] = body
    await host.runGroup(lastNumber)
  }

  /// Traps if it is called outside the loop. Does nothing in a release build.
  @inline(__always) func check() {
    #if DEBUG
      events.checkIsolated()
    #endif
  }

  /// Returns a function that calls a closure on the loop, for callers that need a `Sendable` function. They must call
  /// the function on the loop.
  ///
  /// The closure lives as long as the worker, so a part makes a fixed number of them.
  func callback<Value: Sendable>(_ body: @escaping (Value) -> Void) -> @Sendable (Value) -> Void {
    lastNumber += 1
    callbacks[lastNumber] = { if let value = $0 as? Value { body(value) } }
    return { [weak host, number = lastNumber] value in
      if let host { Self.runCallback(number, value, on: host) }
    }
  }

  /// Returns a function that calls a closure on the loop, for callers that need a `Sendable` function. They must call
  /// the function on the loop.
  func callback(_ body: @escaping () -> Void) -> @Sendable () -> Void {
    let call = callback { (_: Bool) in body() }
    return { call(true) }
  }

  /// Returns a timer that calls a closure on the loop. The closure lives as long as the worker.
  func timer(_ body: @escaping () -> Void) -> LoopTimer { LoopTimer(on: events, handler: callback(body)) }

  // MARK: For the host

  /// Returns the closure of a task that is about to run.
  func task(_ number: Int) -> (() async -> Void)? { tasks.removeValue(forKey: number) }

  /// Returns the body of a group that is about to run.
  func group(_ number: Int) -> ((inout DiscardingTaskGroup) async -> Void)? { groups.removeValue(forKey: number) }

  /// Calls the closure of a callback.
  func call(_ number: Int, _ value: any Sendable) { callbacks[number]?(value) }

  private func add(_ body: @escaping () async -> Void) -> Int {
    lastNumber += 1
    tasks[lastNumber] = body
    return lastNumber
  }

  /// Called on the loop. The task inherits the actor's isolation, so it does not pass through another executor.
  private static func start<Host: WorkerLoopHost>(_ number: Int, on host: Host) {
    host.assumeIsolated { host in
      _ = Task { await host.runTask(number) }
    }
  }

  private static func runCallback<Host: WorkerLoopHost>(_ number: Int, _ value: any Sendable, on host: Host) {
    host.assumeIsolated { $0.runCallback(number, value) }
  }
}
