import Glibc

/// A port of the loopback address at which connections are refused. Nothing listens there, and no other process can.
public final class RefusingPort: Sendable {
  private let descriptor: Int32

  /// Takes a port.
  ///
  /// - Parameters:
  ///   - host: `127.0.0.1` or `::1`.
  ///   - port: the port.
  /// - Throws: if another process uses the port.
  public init(host: String, port: UInt16) throws {
    var hints = addrinfo()
    hints.ai_flags = AI_NUMERICHOST
    hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
    var list: UnsafeMutablePointer<addrinfo>?
    guard getaddrinfo(host, String(port), &hints, &list) == 0, let address = list?.pointee else {
      throw TestSupportError("\(host) is no address")
    }
    defer { freeaddrinfo(list) }
    descriptor = socket(address.ai_family, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
    guard descriptor >= 0, bind(descriptor, address.ai_addr, address.ai_addrlen) == 0 else {
      throw TestSupportError("can't take port \(port) of \(host): \(String(cString: strerror(errno)))")
    }
  }

  deinit { close(descriptor) }
}
