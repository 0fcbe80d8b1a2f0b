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
    let address = try NumericAddress(host, port: Int(port))
    descriptor = socket(address.family, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
    guard descriptor >= 0, address.bind(descriptor) == 0 else {
      throw TestSupportError("can't take port \(port) of \(host): \(String(cString: strerror(errno)))")
    }
  }

  deinit { close(descriptor) }
}
