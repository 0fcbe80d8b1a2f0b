internal import Synchronization

/// How often each address connects: too often is taken for an attack, and the address is blocked for a while
/// (reference 1.6). Shared by all event loops.
final class ConnectRates: Sendable {
  private struct Window {
    var begins: UInt64
    var count: Int
  }

  private static let minute: UInt64 = 60_000
  /// More addresses than a test bench has; beyond it all are forgotten.
  private static let mostAddresses = 10_000
  private let windows = Mutex<[String: Window]>([:])

  /// Whether one more connection of `address` is let in.
  ///
  /// - Parameters:
  ///   - limit: connections in a minute.
  ///   - now: milliseconds by any monotonic clock.
  func admit(_ address: String, limit: Int, now: UInt64) -> Bool {
    windows.withLock { windows in
      if windows.count >= Self.mostAddresses { windows.removeAll() }
      var window = windows[address] ?? Window(begins: now, count: 0)
      if now - window.begins >= Self.minute { window = Window(begins: now, count: 0) }
      window.count += 1
      windows[address] = window
      return window.count <= limit
    }
  }

  func removeAll() { windows.withLock { $0.removeAll() } }
}
