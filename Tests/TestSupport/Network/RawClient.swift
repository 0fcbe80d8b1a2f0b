import Dispatch
import Glibc

/// A client that sends the given bytes, and reads until the server closes the connection or has sent a given text.
public final class RawClient: Sendable {
  private let descriptor: Int32

  /// Seconds without a byte after which ``read(until:limit:)`` gives up. A server that neither answers nor closes then
  /// fails the test instead of blocking it.
  private static let timeout = 45

  /// - Parameter source: local address of the connection, such as an address of 127.0.0.0/8.
  public init(port: Int, host: String = "127.0.0.1", source: String? = nil) throws {
    let address = try NumericAddress(host, port: port)
    descriptor = socket(address.family, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
    // All properties are set now. So deinit runs even if this initializer throws, and closes the descriptor. A second
    // close here could close a descriptor of another owner.
    //
    // After this timeout recv fails with EAGAIN (socket(7)).
    var timeout = timeval(tv_sec: Self.timeout, tv_usec: 0)
    setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &timeout, socklen_t(MemoryLayout<timeval>.size))
    if let source {
      var own = sockaddr_in()
      own.sin_family = sa_family_t(AF_INET)
      guard inet_pton(AF_INET, source, &own.sin_addr) == 1,
        withUnsafePointer(
          to: &own,
          { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
              bind(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
          }) == 0
      else { throw TestSupportError("bind to \(source): \(String(cString: strerror(errno)))") }
    }
    guard address.connect(descriptor) == 0 else {
      throw TestSupportError("connect to \(host):\(port): \(String(cString: strerror(errno)))")
    }
  }

  deinit { close(descriptor) }

  /// - Returns: whether all bytes were sent.
  @discardableResult
  public func send(_ text: String) async -> Bool {
    let bytes = Array(text.utf8)
    return await blocking { descriptor in
      var sent = 0
      while sent < bytes.count {
        let count = bytes.withUnsafeBytes {
          Glibc.send(descriptor, $0.baseAddress?.advanced(by: sent), bytes.count - sent, Int32(MSG_NOSIGNAL))
        }
        guard count > 0 else { return false }
        sent += count
      }
      return true
    }
  }

  /// Reads until the server closes the connection, or until the text contains `end`.
  public func read(until end: String? = nil, limit: Int = 64 << 20) async -> String {
    await blocking { descriptor in
      var text: [UInt8] = []
      var buffer = [UInt8](repeating: 0, count: 64 * 1024)
      while text.count < limit {
        let count = recv(descriptor, &buffer, buffer.count, 0)
        guard count > 0 else { break }
        text += buffer[..<count]
        if let end, String(decoding: text, as: UTF8.self).contains(end) { break }
      }
      return String(decoding: text, as: UTF8.self)
    }
  }

  /// Sends one request on a connection of its own and returns the answer.
  public static func exchange(_ request: String, port: Int, host: String = "127.0.0.1") async throws -> String {
    let client = try RawClient(port: port, host: host)
    await client.send(request)
    return await client.read()
  }

  private func blocking<Value: Sendable>(_ body: @escaping @Sendable (Int32) -> Value) async -> Value {
    await withCheckedContinuation { continuation in
      DispatchQueue.global().async { [self] in continuation.resume(returning: body(descriptor)) }
    }
  }
}
