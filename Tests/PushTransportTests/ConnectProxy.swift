import Foundation
import Glibc
import Synchronization

/// An HTTP proxy that tunnels (CONNECT) for those who know its login, on threads of its own.
final class ConnectProxy: Sendable {
  let port: UInt16
  private let listener: Int32
  private let login: String
  /// What it was asked for, and how it answered.
  private let log = Mutex<[String]>([])

  /// - Parameter login: `user:password`.
  init(login: String) throws {
    self.login = login
    let listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_addr.s_addr = UInt32(0x7f00_0001).bigEndian
    var length = socklen_t(MemoryLayout<sockaddr_in>.size)
    let status = withUnsafeMutablePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        bind(listener, $0, length) == 0 && listen(listener, 16) == 0 && getsockname(listener, $0, &length) == 0
      }
    }
    guard status else { throw POSIXError(.EADDRNOTAVAIL) }
    self.listener = listener
    port = UInt16(bigEndian: address.sin_port)
    Thread.detachNewThread { [self] in
      while true {
        let client = accept(listener, nil, nil)
        guard client >= 0 else { return }
        Thread.detachNewThread { [self] in serve(client) }
      }
    }
  }

  /// The requests so far: method, target and the status that was answered.
  var requests: [String] { log.withLock { $0 } }

  func stop() { shutdown(listener, Int32(SHUT_RDWR)) }

  private func serve(_ client: Int32) {
    defer { close(client) }
    while let head = readHead(client) {
      let lines = head.split(separator: "\r\n")
      let words = lines.first?.split(separator: " ") ?? []
      guard words.count == 3, words[0] == "CONNECT",
        let port = words[1].split(separator: ":").last.flatMap({ UInt16($0) })
      else { return }
      let wanted = "Proxy-Authorization: Basic \(Data(login.utf8).base64EncodedString())"
      guard lines.contains(where: { $0 == wanted }) else {
        log.withLock { $0.append("CONNECT \(words[1]) 407") }
        put(
          client,
          "HTTP/1.1 407 Proxy Authentication Required\r\nProxy-Authenticate: Basic realm=\"test\"\r\n"
            + "Content-Length: 0\r\n\r\n")
        continue
      }
      log.withLock { $0.append("CONNECT \(words[1]) 200") }
      return tunnel(client, to: port)
    }
  }

  private func tunnel(_ client: Int32, to port: UInt16) {
    let server = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    defer { close(server) }
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_port = port.bigEndian
    address.sin_addr.s_addr = UInt32(0x7f00_0001).bigEndian
    let status = withUnsafePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        connect(server, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
      }
    }
    guard status == 0 else { return }
    put(client, "HTTP/1.1 200 Connection established\r\n\r\n")
    let back = DispatchSemaphore(value: 0)
    Thread.detachNewThread {
      Self.copy(from: server, to: client)
      back.signal()
    }
    Self.copy(from: client, to: server)
    back.wait()
  }

  private static func copy(from source: Int32, to target: Int32) {
    var buffer = [UInt8](repeating: 0, count: 1 << 16)
    while true {
      let count = recv(source, &buffer, buffer.count, 0)
      guard count > 0, send(target, buffer, count, Int32(MSG_NOSIGNAL)) == count else { break }
    }
    shutdown(source, Int32(SHUT_RDWR))
    shutdown(target, Int32(SHUT_RDWR))
  }

  private func readHead(_ client: Int32) -> String? {
    var bytes: [UInt8] = []
    var byte: UInt8 = 0
    while !bytes.suffix(4).elementsEqual("\r\n\r\n".utf8) {
      guard recv(client, &byte, 1, 0) == 1 else { return nil }
      bytes.append(byte)
    }
    return String(decoding: bytes, as: UTF8.self)
  }

  private func put(_ client: Int32, _ text: String) {
    _ = send(client, text, text.utf8.count, Int32(MSG_NOSIGNAL))
  }
}
