import Dispatch
import Foundation
import Synchronization

/// A few threads for requests with long computations, one request per thread. Such requests therefore do not delay
/// other requests, including health checks.
///
/// The requests of one token can use all threads except one, so that a client with long requests does not block the
/// others.
public final class ComputePool: Sendable {
  /// A thread that runs one request at a time.
  private final class Lane: TaskExecutor {
    private let queue = DispatchQueue(label: "carillon.compute")

    func enqueue(_ job: consuming ExecutorJob) {
      let job = UnownedJob(job)
      queue.async { job.runSynchronously(on: self.asUnownedTaskExecutor()) }
    }
  }

  /// A request that waits for a thread.
  private struct Waiter {
    var id: UInt64
    var holder: String
    var start: @Sendable (Lane) -> Void
  }

  private struct State {
    var free: [Lane]
    var waiting: [Waiter] = []
    /// Number of threads that the requests of each token use, by the token's name.
    var running: [String: Int] = [:]
    var nextID: UInt64 = 0
  }

  /// Maximum number of requests that wait for a thread: a few seconds of work with large jobs. With more requests, the
  /// wait would exceed ``standardTimeout``.
  private static let maximumWaiting = 16
  /// Maximum number of waiting requests of one token.
  private static let maximumWaitingOfOne = 8
  /// Maximum time for a request to wait and to compute. The largest allowed job takes one or two seconds on a slow
  /// machine.
  public static let standardTimeout = Duration.seconds(10)
  /// Value of `Retry-After` in seconds: the time in which half of the waiting requests complete.
  private static let retryAfter = 5

  private let lanesOfOne: Int
  private let timeout: Duration
  private let state: Mutex<State>

  /// - Parameters:
  ///   - lanes: number of threads, at least two. Default: half of the processors.
  ///   - timeout: maximum time for a request to wait and to compute.
  public init(lanes: Int? = nil, timeout: Duration = standardTimeout) {
    let count = max(2, lanes ?? ProcessInfo.processInfo.activeProcessorCount / 2)
    lanesOfOne = count - 1
    self.timeout = timeout
    state = Mutex(State(free: (0..<count).map { _ in Lane() }))
  }

  /// Runs all synchronous parts of `body` on one thread of the pool.
  ///
  /// If the caller is cancelled or has waited too long, this function returns immediately and cancels `body`. The
  /// thread is free again only when `body` returns.
  ///
  /// - Parameter holder: the token's name.
  /// - Throws: errors of `body`; a ``Problem`` with 503 if there are too many requests or `body` takes too long;
  ///   `CancellationError`.
  public func run<Value: Sendable>(
    for holder: String, _ body: @escaping @Sendable () async throws -> Value
  ) async throws -> Value {
    let result = OneResult<Value>()
    let work = Mutex<(task: Task<Void, Never>?, isCancelled: Bool)>((nil, false))
    let id = try enter(holder) { [self] lane in
      let task = Task(executorPreference: lane) { [self] in
        do {
          result.set(.success(try await body()))
        } catch {
          result.set(.failure(error))
        }
        leave(lane, holder)
      }
      let isCancelled = work.withLock { work in
        work.task = task
        return work.isCancelled
      }
      if isCancelled { task.cancel() }
    }
    let cancel: @Sendable (any Error) -> Void = { [self] error in
      withdraw(id)
      result.set(.failure(error))
      let task = work.withLock { work in
        work.isCancelled = true
        return work.task
      }
      task?.cancel()
    }
    let timer = Task { [timeout] in
      try await Task.sleep(for: timeout)
      cancel(
        Problem(
          503, "busy", "the request took longer than \(timeout.components.seconds) s and was ended",
          hint: "try again later, or send a smaller request", retryAfter: Self.retryAfter))
    }
    defer { timer.cancel() }
    return try await withTaskCancellationHandler {
      try await result.value
    } onCancel: {
      cancel(CancellationError())
    }
  }

  private func enter(_ holder: String, _ start: @escaping @Sendable (Lane) -> Void) throws(Problem) -> UInt64 {
    let id = try state.withLock { state throws(Problem) in
      guard state.waiting.count < Self.maximumWaiting,
        state.waiting.count(where: { $0.holder == holder }) < Self.maximumWaitingOfOne
      else {
        throw Problem(
          503, "busy", "too many long requests are running", hint: "try again later", retryAfter: Self.retryAfter)
      }
      state.nextID += 1
      state.waiting.append(Waiter(id: state.nextID, holder: holder, start: start))
      return state.nextID
    }
    startNext()
    return id
  }

  private func leave(_ lane: Lane, _ holder: String) {
    state.withLock { state in
      state.free.append(lane)
      let left = state.running[holder, default: 1] - 1
      state.running[holder] = left > 0 ? left : nil
    }
    startNext()
  }

  private func withdraw(_ id: UInt64) { state.withLock { $0.waiting.removeAll { $0.id == id } } }

  /// Starts the first waiting request that may use a thread.
  private func startNext() {
    let next = state.withLock { state -> (waiter: Waiter, lane: Lane)? in
      guard
        let index = state.waiting.firstIndex(where: { state.running[$0.holder, default: 0] < lanesOfOne }),
        let lane = state.free.popLast()
      else { return nil }
      let waiter = state.waiting.remove(at: index)
      state.running[waiter.holder, default: 0] += 1
      return (waiter, lane)
    }
    if let next { next.waiter.start(next.lane) }
  }

  /// A result for one waiting task. Only the first value that is set counts.
  private final class OneResult<Value: Sendable>: Sendable {
    private enum State {
      case nothing
      case awaited(CheckedContinuation<Value, any Error>)
      case set(Result<Value, any Error>)
    }

    private let state = Mutex(State.nothing)

    func set(_ result: Result<Value, any Error>) {
      let waiter = state.withLock { state -> CheckedContinuation<Value, any Error>? in
        switch state {
        case .nothing:
          state = .set(result)
          return nil
        case .awaited(let waiter):
          state = .set(result)
          return waiter
        case .set: return nil
        }
      }
      waiter?.resume(with: result)
    }

    var value: Value {
      get async throws {
        try await withCheckedThrowingContinuation { continuation in
          let result = state.withLock { state -> Result<Value, any Error>? in
            if case .set(let result) = state { return result }
            state = .awaited(continuation)
            return nil
          }
          if let result { continuation.resume(with: result) }
        }
      }
    }
  }
}
