import Glibc
import Synchronization

/// Finds ports without a listener.
public enum FreePort {
  /// The ports that ``find()`` returned last. A test that stops its server expects no answer on its port, so the port
  /// is not used again while that test may still run.
  private static let recent = Mutex<[UInt16]>([])

  /// Number of ports that are kept from reuse: more than all tests of one run need, and a third of the range.
  private static let kept = 4000

  /// Returns a free port that was not among the last 4,000 returned.
  ///
  /// The range is below the one from which Linux takes the ports of outgoing connections (ip_local_port_range, 32768
  /// and up), so no connection takes the port before the caller's server binds it. Another process can still take the
  /// port; the caller then tries another one. A Redis Cluster node also listens 10,000 above its port, which is below
  /// that range too.
  public static func find() throws -> UInt16 {
    try recent.withLock { recent in
      for _ in 0..<1000 {
        let port = UInt16.random(in: 10_000...22_000)
        guard !recent.contains(port), isFree(port), isFree(port + 10_000) else { continue }
        if recent.count == kept { recent.removeFirst() }
        recent.append(port)
        return port
      }
      throw TestSupportError("no free port between 10000 and 22000")
    }
  }

  private static func isFree(_ port: UInt16) -> Bool {
    let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
    guard descriptor >= 0 else { return false }
    defer { close(descriptor) }
    // As in servers: connections of the last test in TIME_WAIT don't prevent the bind (socket(7)).
    var yes: Int32 = 1
    setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &yes, socklen_t(MemoryLayout<Int32>.size))
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_port = port.bigEndian
    address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
    return withUnsafePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        bind(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size)) == 0
      }
    }
  }
}
