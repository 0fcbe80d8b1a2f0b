import Dispatch
import EventLoop
import Glibc
import TLS
import TestSupport

/// A TLS server that gives the answers of the test, one for each connection, and records the requests.
///
/// It uses HTTP/1.1. Single requests accept HTTP/1.1 if the server does not negotiate HTTP/2 (RFC 9113 section 3.2);
/// pushes do not.
struct CannedServer {
  let port: UInt16
  /// Certificate of the authority that issued the server's certificate.
  let authorityPEM: String
  private let requests: AsyncThrowingStream<String, any Error>

  /// The longest wait for a connection, in ms. It is long enough for a busy machine, and short enough that a missing
  /// connection fails the test.
  private static let timeout: Int32 = 20_000

  /// - Parameter answers: status lines and header lines, without line breaks.
  static func start(_ answers: [[String]]) async throws -> CannedServer {
    let (places, place) = AsyncThrowingStream.makeStream(of: (port: UInt16, authority: String).self)
    let (requests, request) = AsyncThrowingStream.makeStream(of: String.self)
    DispatchQueue(label: "canned server").async {
      do {
        let identity = try SelfSignedIdentity()
        let context = try TLSContext.server(identity: identity.identity)
        let listener = try Socket.listen(at: try SocketAddress.resolve(host: "127.0.0.1", port: 0)[0])
        place.yield((try listener.localAddress().port, identity.authorityPEM))
        for answer in answers {
          try wait(listener.descriptor)
          guard let socket = try listener.accept() else { throw TestSupportError("no client connected") }
          request.yield(try serve(TLSStream(socket, context: context), answer))
        }
        request.finish()
      } catch {
        place.finish(throwing: error)
        request.finish(throwing: error)
      }
    }
    guard let (port, authority) = try await places.first(where: { _ in true }) else {
      throw TestSupportError("the server ended before it began")
    }
    return CannedServer(port: port, authorityPEM: authority, requests: requests)
  }

  /// Returns the requests in their order, after the server has given all answers. Only one caller may use it.
  func asked() async throws -> [String] { try await requests.reduce(into: []) { $0.append($1) } }

  private static func serve(_ stream: TLSStream, _ answer: [String]) throws -> String {
    while try stream.handshake() != nil { try wait(stream.descriptor) }
    var received = ""
    while !isWhole(received) {
      var buffer = [UInt8](repeating: 0, count: 65_536)
      switch try buffer.withUnsafeMutableBytes({ try stream.read(into: $0) }) {
      case .bytes(let count): received += String(decoding: buffer[..<count], as: UTF8.self)
      case .wantsRead: try wait(stream.descriptor)
      default: throw TestSupportError("the client went away: \(received)")
      }
    }
    let body = answer.last.flatMap { $0.hasPrefix("{") ? $0 : nil } ?? ""
    let lines = (body.isEmpty ? answer : answer.dropLast()) + ["content-length: \(body.utf8.count)", "", body]
    // A few hundred bytes always fit in the socket's buffer.
    _ = try Array(lines.joined(separator: "\r\n").utf8).withUnsafeBytes { try stream.write($0) }
    stream.finishWriting()
    return received
  }

  /// Returns whether a request has all its headers and the announced number of body bytes.
  private static func isWhole(_ request: String) -> Bool {
    guard let end = request.firstRange(of: "\r\n\r\n") else { return false }
    let length = request.lowercased().split(separator: "\r\n").first { $0.hasPrefix("content-length: ") }
    let body = length.flatMap { Int($0.dropFirst("content-length: ".count)) } ?? 0
    return request[end.upperBound...].utf8.count >= body
  }

  private static func wait(_ descriptor: Int32) throws {
    var entry = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
    guard poll(&entry, 1, timeout) > 0 else { throw TestSupportError("waited in vain") }
  }
}
