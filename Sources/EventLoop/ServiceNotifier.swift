import Dispatch
import Glibc

/// Notifier for the service manager, with systemd's notification protocol (sd_notify(3)). The protocol sends a datagram
/// to the socket that the environment names, so libsystemd is not needed.
public struct ServiceNotifier: Sendable {
  private let address: [UInt8]
  /// Watchdog interval from the environment in ns. Without a notification in this time, the service manager kills the
  /// service.
  private let watchdog: UInt64?

  /// - Parameter environment: `NOTIFY_SOCKET`, `WATCHDOG_USEC`, `WATCHDOG_PID`, as the service manager sets them.
  /// - Returns: `nil` if no notifications are requested, or if the socket's address is invalid.
  public init?(_ environment: [String: String]) {
    guard let path = environment["NOTIFY_SOCKET"], let first = path.utf8.first, path.utf8.count <= Self.longest,
      first == UInt8(ascii: "/") || first == UInt8(ascii: "@")
    else { return nil }
    var address = Array(path.utf8)
    // unix(7): an abstract address begins with a zero byte, which the environment can't contain.
    if first == UInt8(ascii: "@") { address[0] = 0 }
    self.address = address
    // `WATCHDOG_PID` may name another process of the service.
    let isMine = environment["WATCHDOG_PID"].map { $0 == String(getpid()) } ?? true
    watchdog = isMine ? environment["WATCHDOG_USEC"].flatMap { UInt64($0) }.flatMap { Self.nanoseconds($0) } : nil
  }

  /// unix(7): `sun_path` has 108 bytes, and a zero byte ends the path.
  private static let longest = 107

  private static func nanoseconds(_ microseconds: UInt64) -> UInt64? {
    let (product, isOver) = microseconds.multipliedReportingOverflow(by: 1000)
    return isOver || product == 0 ? nil : product
  }

  /// Notifies the service manager that the program is ready.
  ///
  /// - Parameter status: one line for people, which `systemctl status` shows.
  public func ready(_ status: String) { send("READY=1\nSTATUS=\(status)") }

  /// Notifies the service manager that the program is stopping on request.
  public func stopping() { send("STOPPING=1") }

  /// Sends watchdog notifications from a loop at twice the requested rate, so a blocked loop is detected. The
  /// notifications end when the last reference to the timer is released.
  ///
  /// - Parameter isAlive: whether the rest of the process makes progress; called on the loop.
  /// - Returns: `nil` if no watchdog is requested.
  public func keepAlive(
    on loop: EventLoop, while isAlive: @escaping @Sendable () -> Bool = { true }
  ) -> LoopTimer? {
    guard let watchdog else { return nil }
    let timer = LoopTimer(on: loop) { [self] in if isAlive() { send("WATCHDOG=1") } }
    timer.schedule(every: .nanoseconds(Int(min(watchdog / 2, UInt64(Int.max)))))
    return timer
  }

  /// Sends a notification. Ignores errors, because the service manager notices if a notification is missing.
  private func send(_ words: String) {
    let descriptor = socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
    guard descriptor >= 0 else { return }
    defer { close(descriptor) }
    var target = sockaddr_un()
    target.sun_family = sa_family_t(AF_UNIX)
    withUnsafeMutableBytes(of: &target.sun_path) { $0.copyBytes(from: address) }
    // unix(7): the length determines the end of an abstract address. The zero byte of a path may be included or not.
    let length = socklen_t(MemoryLayout<sa_family_t>.size + address.count)
    let bytes = Array(words.utf8)
    withUnsafePointer(to: &target) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        _ = sendto(descriptor, bytes, bytes.count, Int32(MSG_NOSIGNAL) | Int32(MSG_DONTWAIT), $0, length)
      }
    }
  }
}
