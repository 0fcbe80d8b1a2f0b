import Dispatch
import Glibc

/// Tells the service manager how the program fares: systemd's notification protocol (sd_notify(3)), a datagram to the
/// socket that the environment names. Without libsystemd, which is no more than this.
public struct ServiceNotifier: Sendable {
  private let address: [UInt8]
  /// What the environment asks for: a sign of life within so many ns, or the service is killed.
  private let watchdog: UInt64?

  /// - Parameter environment: `NOTIFY_SOCKET`, `WATCHDOG_USEC`, `WATCHDOG_PID`, as the service manager sets them.
  /// - Returns: `nil` where nobody wants to be told, or the socket's address is none that there can be.
  public init?(_ environment: [String: String]) {
    guard let path = environment["NOTIFY_SOCKET"], let first = path.utf8.first, path.utf8.count <= Self.longest,
      first == UInt8(ascii: "/") || first == UInt8(ascii: "@")
    else { return nil }
    var address = Array(path.utf8)
    // unix(7): an abstract address begins with a zero byte, which the environment can't hold.
    if first == UInt8(ascii: "@") { address[0] = 0 }
    self.address = address
    // Another process of the service may be the one that is watched.
    let isMine = environment["WATCHDOG_PID"].map { $0 == String(getpid()) } ?? true
    watchdog = isMine ? environment["WATCHDOG_USEC"].flatMap { UInt64($0) }.flatMap { Self.nanoseconds($0) } : nil
  }

  /// unix(7): `sun_path` has 108 bytes, and a path's end is marked by one.
  private static let longest = 107

  private static func nanoseconds(_ microseconds: UInt64) -> UInt64? {
    let (product, isOver) = microseconds.multipliedReportingOverflow(by: 1000)
    return isOver || product == 0 ? nil : product
  }

  /// The program does what it is there for.
  ///
  /// - Parameter status: one line for people, which `systemctl status` shows.
  public func ready(_ status: String) { send("READY=1\nSTATUS=\(status)") }

  /// The program has been asked to end, and ends.
  public func stopping() { send("STOPPING=1") }

  /// Sends watchdog notifications from a loop, at twice the rate that is asked for: a loop that is stuck sends none. Ends with
  /// the last reference to the timer.
  ///
  /// - Parameter isAlive: whether the rest of the process makes progress; called on the loop.
  /// - Returns: `nil` where no watchdog is asked for.
  public func keepAlive(
    on loop: EventLoop, while isAlive: @escaping @Sendable () -> Bool = { true }
  ) -> LoopTimer? {
    guard let watchdog else { return nil }
    let timer = LoopTimer(on: loop) { [self] in if isAlive() { send("WATCHDOG=1") } }
    timer.schedule(every: .nanoseconds(Int(min(watchdog / 2, UInt64(Int.max)))))
    return timer
  }

  /// Sent or lost: there is nobody to tell, and the service manager notices what matters.
  private func send(_ words: String) {
    let descriptor = socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
    guard descriptor >= 0 else { return }
    defer { close(descriptor) }
    var target = sockaddr_un()
    target.sun_family = sa_family_t(AF_UNIX)
    withUnsafeMutableBytes(of: &target.sun_path) { $0.copyBytes(from: address) }
    // unix(7): the length says where an abstract address ends; a path may have its zero byte counted or not.
    let length = socklen_t(MemoryLayout<sa_family_t>.size + address.count)
    let bytes = Array(words.utf8)
    withUnsafePointer(to: &target) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        _ = sendto(descriptor, bytes, bytes.count, Int32(MSG_NOSIGNAL) | Int32(MSG_DONTWAIT), $0, length)
      }
    }
  }
}
