import CommandSupport
import Foundation
import Glibc
import Synchronization

/// Scrapes the metrics of a worker, like Prometheus: a connection and a `GET` each time.
final class MetricsScraper: Sendable {
  /// The worker's local port for metrics. The port was free when it was chosen.
  let port: UInt16
  private let isOver = Mutex(false)

  init() throws {
    port = try Self.freePort()
  }

  /// The option of `carillon worker` for this port.
  var options: [String] { ["--listen", "127.0.0.1:\(port)"] }

  /// Scrapes every second until ``end()``.
  func begin() async throws {
    try scrape()
    Task { [self] in
      while !isOver.withLock(\.self) {
        try await Task.sleep(for: .seconds(1))
        try scrape()
      }
    }
  }

  func end() { isOver.withLock { $0 = true } }

  /// Scrapes once and reads the whole answer.
  func scrape() throws {
    let descriptor = Glibc.socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    guard descriptor >= 0 else { throw FileError.last("a socket") }
    defer { close(descriptor) }
    var address = Self.loopback(port)
    let connected = withUnsafePointer(to: &address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
      }
    }
    guard connected == 0 else { throw FileError.last("the worker's port \(port)") }
    let request = "GET /metrics HTTP/1.1\r\nHost: bench\r\nConnection: close\r\n\r\n"
    guard
      request.utf8.withContiguousStorageIfAvailable({ send(descriptor, $0.baseAddress, $0.count, 0) })
        == request.utf8.count
    else { throw FileError.last("the worker's port \(port)") }
    var (answer, block) = ([UInt8](), [UInt8](repeating: 0, count: 65_536))
    while true {
      let got = recv(descriptor, &block, block.count, 0)
      guard got >= 0 else { throw FileError.last("the worker's port \(port)") }
      if got == 0 { break }
      answer += block[..<got]
    }
    let text = String(decoding: answer, as: UTF8.self)
    guard text.hasPrefix("HTTP/1.1 200"), text.contains("carillon_worker_info") else {
      throw CommandError(.failed, "the worker gave no metrics: \(text.prefix(200))")
    }
  }

  private static func loopback(_ port: UInt16) -> sockaddr_in {
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_port = port.bigEndian
    address.sin_addr.s_addr = in_addr_t(0x7f00_0001).bigEndian
    return address
  }

  private static func freePort() throws -> UInt16 {
    let descriptor = Glibc.socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    guard descriptor >= 0 else { throw FileError.last("a socket") }
    defer { close(descriptor) }
    var address = loopback(0)
    var length = socklen_t(MemoryLayout<sockaddr_in>.size)
    let isBound = withUnsafeMutablePointer(to: &address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        bind(descriptor, $0, length) == 0 && getsockname(descriptor, $0, &length) == 0
      }
    }
    guard isBound else { throw FileError.last("a port on this machine") }
    return UInt16(bigEndian: address.sin_port)
  }
}
