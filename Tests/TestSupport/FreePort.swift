import Glibc

/// Finds ports that nobody listens on.
public enum FreePort {
  /// Below the range from which Linux takes the ports of outgoing connections (ip_local_port_range, 32768 and up), so that
  /// those can't take it in between; another process still can, so the caller tries again when binding fails. A Redis
  /// Cluster node also listens 10,000 above its port, which then is below that range too.
  public static func find() throws -> UInt16 {
    for _ in 0..<1000 {
      let port = UInt16.random(in: 10_000...22_000)
      if isFree(port), isFree(port + 10_000) { return port }
    }
    throw TestSupportError("no free port between 10000 and 22000")
  }

  private static func isFree(_ port: UInt16) -> Bool {
    let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
    guard descriptor >= 0 else { return false }
    defer { close(descriptor) }
    // As servers do: connections of the last test that linger in TIME_WAIT are no obstacle (socket(7)).
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
