import Synchronization

/// Monitors that all clients of the process share, one for each key. A *monitor* is an actor that watches the sentinels
/// or the map of a cluster. It exists as long as a client has a reference to it.
final class SharedMonitors<Key: Hashable & Sendable, Monitor: AnyObject & Sendable>: Sendable {
  private struct Entry {
    weak var monitor: Monitor?
  }

  private let entries = Mutex<[Key: Entry]>([:])

  /// Returns the monitor of a key.
  ///
  /// - Parameter make: makes a monitor if there is none.
  func monitor(_ key: Key, make: () -> Monitor) -> Monitor {
    entries.withLock { entries in
      entries = entries.filter { $0.value.monitor != nil }
      if let monitor = entries[key]?.monitor { return monitor }
      let monitor = make()
      entries[key] = Entry(monitor: monitor)
      return monitor
    }
  }
}

/// The callers that wait for the next result of a monitor, and the listeners that get every result. They share the
/// recorded errors.
struct WatchAudience<Value: Sendable> {
  typealias Waiter = CheckedContinuation<Result<Value, RedisError>, Never>

  private var waiters: [Waiter] = []
  private var listeners: [UInt64: @Sendable (Value) -> Void] = [:]
  private var nextID: UInt64 = 0
  /// The error for the waiting callers: the first temporary error since the last result, or, without a temporary error,
  /// the latest permanent one.
  private var lastError: RedisError?

  /// Whether no listener is left. Waiting callers do not count.
  var isEmpty: Bool { listeners.isEmpty }

  /// Adds a caller that gets the next result or error.
  mutating func add(waiter: Waiter) { waiters.append(waiter) }

  /// Adds a listener that gets every result, and returns its number for ``remove(_:)``.
  mutating func add(_ listener: @escaping @Sendable (Value) -> Void) -> UInt64 {
    defer { nextID += 1 }
    listeners[nextID] = listener
    return nextID
  }

  /// Removes a listener.
  mutating func remove(_ listener: UInt64) { listeners[listener] = nil }

  /// Passes a result to the waiting callers and the listeners.
  mutating func succeed(_ value: Value) {
    lastError = nil
    for waiter in takeWaiters() { waiter.resume(returning: .success(value)) }
    for listener in listeners.values { listener(value) }
  }

  /// Records an error of one server. A permanent error does not replace a temporary one, because the caller must give
  /// up only if all servers return permanent errors.
  mutating func record(_ error: RedisError) {
    if lastError?.isPermanent ?? true { lastError = error }
  }

  /// Fails the waiting callers with the recorded error.
  ///
  /// - Parameters:
  ///   - unanswered: the message of the error if no error was recorded.
  ///   - prefix: text to put before the message of the recorded error.
  mutating func fail(_ unanswered: String, prefix: String) {
    var error = lastError ?? RedisError(.notReady, unanswered, hint: Hint.address)
    error.message = "\(prefix): \(error.message)"
    error.mayHaveExecuted = false
    for waiter in takeWaiters() { waiter.resume(returning: .failure(error)) }
    lastError = nil
  }

  private mutating func takeWaiters() -> [Waiter] {
    defer { waiters = [] }
    return waiters
  }
}
