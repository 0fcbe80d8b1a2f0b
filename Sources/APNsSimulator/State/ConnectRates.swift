internal import Synchronization

/// Limits the rate of connections of each client address. APNs may interpret frequent connections as an attack and
/// block the address for some time (Apple, "Sending notification requests to APNs"). Shared by all event loops.
final class ConnectRates: Sendable {
  private struct Window {
    var begins: UInt64
    var count: Int
  }

  private static let minute: UInt64 = 60_000
  /// Maximum number of stored addresses. A test setup has fewer. When the number is reached, the simulator removes all
  /// addresses.
  private static let maximumAddresses = 10_000
  private let windows = Mutex<[String: Window]>([:])

  /// Counts a connection and returns whether it is accepted.
  ///
  /// - Parameters:
  ///   - limit: connections per minute.
  ///   - now: milliseconds on any monotonic clock.
  func admit(_ address: String, limit: Int, now: UInt64) -> Bool {
    windows.withLock { windows in
      if windows.count >= Self.maximumAddresses { windows.removeAll() }
      var window = windows[address] ?? Window(begins: now, count: 0)
      if now - window.begins >= Self.minute { window = Window(begins: now, count: 0) }
      window.count += 1
      windows[address] = window
      return window.count <= limit
    }
  }

  func removeAll() { windows.withLock { $0.removeAll() } }
}
