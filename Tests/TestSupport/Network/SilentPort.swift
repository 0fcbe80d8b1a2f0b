import Glibc

/// A port of the loopback address that doesn't answer: Linux drops the connection requests, because the queue of the
/// listening socket is full (listen(2)).
public final class SilentPort: Sendable {
  private let descriptors: [Int32]

  /// Takes a port.
  ///
  /// - Parameters:
  ///   - host: `127.0.0.1` or `::1`.
  ///   - port: the port.
  /// - Throws: if another process uses the port.
  public init(host: String, port: UInt16) throws {
    let address = try NumericAddress(host, port: Int(port))
    let type = Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue) | Int32(SOCK_NONBLOCK.rawValue)
    let listener = socket(address.family, type, 0)
    guard listener >= 0, address.bind(listener) == 0, listen(listener, 0) == 0 else {
      throw TestSupportError("can't take port \(port) of \(host): \(String(cString: strerror(errno)))")
    }
    // A queue of length 0 has room for one connection (Linux). The others stay unanswered.
    let clients = (0..<4).map { _ in
      let client = socket(address.family, type, 0)
      _ = address.connect(client)
      return client
    }
    descriptors = [listener] + clients
  }

  deinit { for descriptor in descriptors { close(descriptor) } }
}
