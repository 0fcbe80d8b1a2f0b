import EventLoop
import Glibc
import TLS

/// Both ends of a TLS connection over loopback, controlled step by step on one thread.
final class TLSPair {
  let client: TLSStream
  let server: TLSStream
  let sockets: (client: Socket, server: Socket)

  /// The longest wait, in ms. It is long enough for a busy machine, and short enough that a lost byte fails the test.
  private static let timeout: Int32 = 10_000

  init(client clientContext: TLSContext, server serverContext: TLSContext, serverName: String?) throws {
    let address = try SocketAddress.resolve(host: "127.0.0.1", port: 0)[0]
    let listener = try Socket.listen(at: address)
    let socket = try Socket.connect(to: try listener.localAddress())
    Self.wait(listener.descriptor, for: POLLIN)
    guard let accepted = try listener.accept() else { throw TLSError(operation: "accept", reason: "nobody came") }
    sockets = (socket, accepted)
    client = try TLSStream(socket, context: clientContext, serverName: serverName)
    server = try TLSStream(accepted, context: serverContext)
  }

  /// Completes the handshake on both ends; throws the error of the first end that fails.
  func handshake() throws {
    while true {
      let clientWants = try client.handshake()
      let serverWants = try server.handshake()
      if clientWants == nil, serverWants == nil { return }
      // One of the two ends can always read next, because no flight fills a socket buffer.
      if clientWants == .wantsRead, serverWants == nil { Self.wait(client.descriptor, for: POLLIN) }
      if serverWants == .wantsRead, clientWants == nil { Self.wait(server.descriptor, for: POLLIN) }
    }
  }

  func send(_ bytes: [UInt8], from stream: TLSStream) throws -> IOResult {
    try bytes.withUnsafeBytes { try stream.write($0) }
  }

  /// Waits for the next record and returns its content.
  func receive(at stream: TLSStream) throws -> (result: IOResult, bytes: [UInt8]) {
    var buffer = [UInt8](repeating: 0, count: 65_536)
    while true {
      let result = try buffer.withUnsafeMutableBytes { try stream.read(into: $0) }
      if case .bytes(let count) = result { return (result, Array(buffer[..<count])) }
      if result != .wantsRead { return (result, []) }
      Self.wait(stream.descriptor, for: POLLIN)
    }
  }

  static func wait(_ descriptor: Int32, for event: Int32) {
    var entry = pollfd(fd: descriptor, events: Int16(event), revents: 0)
    poll(&entry, 1, timeout)
  }
}
