import Foundation
import Glibc

/// The service manager's end of systemd's notification protocol: it receives the messages of services.
public final class NotifySocket: Sendable {
  /// Value of the variable `NOTIFY_SOCKET` for the services that send to this socket.
  public let address: String
  /// The messages, one per datagram, buffered until they are read. Only one task may read them. The stream ends with
  /// the socket.
  public let messages: AsyncStream<String>
  private let descriptor: Int32

  /// - Parameter address: a path, or `@` and an abstract name (unix(7)).
  public init(_ address: String) throws {
    self.address = address
    let descriptor = socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
    self.descriptor = descriptor
    guard descriptor >= 0 else { throw TestSupportError("socket: \(errno)") }
    var own = sockaddr_un()
    own.sun_family = sa_family_t(AF_UNIX)
    var name = Array(address.utf8)
    if address.hasPrefix("@") { name[0] = 0 }
    withUnsafeMutableBytes(of: &own.sun_path) { $0.copyBytes(from: name) }
    let length = socklen_t(MemoryLayout<sa_family_t>.size + name.count)
    let status = withUnsafePointer(to: &own) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { bind(descriptor, $0, length) }
    }
    guard status == 0 else { throw TestSupportError("bind to \(address): \(errno)") }
    let (stream, continuation) = AsyncStream.makeStream(of: String.self)
    messages = stream
    let thread = Thread {
      var buffer = [UInt8](repeating: 0, count: 4096)
      while true {
        let count = recv(descriptor, &buffer, buffer.count, 0)
        if count < 0, errno == EINTR { continue }
        // After shutdown(2) of the reading side no more messages arrive.
        guard count > 0 else { break }
        continuation.yield(String(decoding: buffer[..<count], as: UTF8.self))
      }
      continuation.finish()
      close(descriptor)
    }
    thread.start()
  }

  deinit { shutdown(descriptor, Int32(SHUT_RD)) }

  /// Waits for a message that contains `text`. Other messages are dropped.
  ///
  /// - Returns: the message, or `nil` if the socket ended without it.
  public func message(containing text: String) async -> String? {
    for await message in messages where message.contains(text) { return message }
    return nil
  }
}
