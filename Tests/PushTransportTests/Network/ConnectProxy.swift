import Foundation
import Glibc
import Synchronization
import TestSupport

/// An HTTP proxy that tunnels (CONNECT) for clients with the right login, on threads of its own.
final class ConnectProxy: Sendable {
  private let server: RawServer
  /// The requests and the status of each answer.
  private let log: Log

  private final class Log: Sendable {
    let requests = Mutex<[String]>([])
  }

  var port: UInt16 { server.port }

  /// - Parameter login: `user:password`.
  init(login: String) throws {
    let log = Log()
    self.log = log
    server = try RawServer { Self.serve($0, login, log) }
  }

  /// The requests so far: method, target and the status of the answer.
  var requests: [String] { log.requests.withLock { $0 } }

  func stop() { server.stop() }

  private static func serve(_ client: Int32, _ login: String, _ log: Log) {
    while let head = RawServer.readHead(of: client) {
      let lines = head.split(separator: "\r\n")
      let words = lines.first?.split(separator: " ") ?? []
      guard words.count == 3, words[0] == "CONNECT",
        let port = words[1].split(separator: ":").last.flatMap({ UInt16($0) })
      else { return }
      let wanted = "Proxy-Authorization: Basic \(Data(login.utf8).base64EncodedString())"
      guard lines.contains(where: { $0 == wanted }) else {
        log.requests.withLock { $0.append("CONNECT \(words[1]) 407") }
        _ = RawServer.write(
          "HTTP/1.1 407 Proxy Authentication Required\r\nProxy-Authenticate: Basic realm=\"test\"\r\n"
            + "Content-Length: 0\r\n\r\n", to: client)
        continue
      }
      log.requests.withLock { $0.append("CONNECT \(words[1]) 200") }
      return tunnel(client, to: port)
    }
  }

  private static func tunnel(_ client: Int32, to port: UInt16) {
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
    _ = RawServer.write("HTTP/1.1 200 Connection established\r\n\r\n", to: client)
    let back = DispatchSemaphore(value: 0)
    Thread.detachNewThread {
      copy(from: server, to: client)
      back.signal()
    }
    copy(from: client, to: server)
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
}
