internal import Foundation
import Glibc

/// A TCP server on a free local port. A closure serves each connection on a thread of its own.
public final class RawServer: Sendable {
  public let port: UInt16
  private let listener: Int32

  /// - Parameter serve: gets the descriptor of a connection, which is closed when the closure returns.
  public init(_ serve: @escaping @Sendable (Int32) -> Void) throws {
    let listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_addr.s_addr = UInt32(0x7f00_0001).bigEndian
    var length = socklen_t(MemoryLayout<sockaddr_in>.size)
    let isListening = withUnsafeMutablePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        bind(listener, $0, length) == 0 && listen(listener, 16) == 0 && getsockname(listener, $0, &length) == 0
      }
    }
    guard isListening else { throw POSIXError(.EADDRNOTAVAIL) }
    self.listener = listener
    port = UInt16(bigEndian: address.sin_port)
    Thread.detachNewThread {
      while true {
        let client = accept(listener, nil, nil)
        guard client >= 0 else { return }
        Thread.detachNewThread {
          serve(client)
          close(client)
        }
      }
    }
  }

  /// Accepts no more connections.
  public func stop() { shutdown(listener, Int32(SHUT_RDWR)) }

  /// Writes bytes to a connection.
  ///
  /// - Returns: whether all bytes were accepted.
  public static func write(_ text: String, to client: Int32) -> Bool {
    var rest = Array(text.utf8)[...]
    while !rest.isEmpty {
      let count = rest.withUnsafeBytes { send(client, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) }
      guard count > 0 else { return false }
      rest = rest.dropFirst(count)
    }
    return true
  }

  /// Reads from a connection up to the empty line after a request's headers.
  public static func readHead(of client: Int32) -> String? {
    var head: [UInt8] = []
    var byte: UInt8 = 0
    while recv(client, &byte, 1, 0) == 1 {
      head.append(byte)
      if head.suffix(4).elementsEqual("\r\n\r\n".utf8) { return String(decoding: head, as: UTF8.self) }
    }
    return nil
  }
}
