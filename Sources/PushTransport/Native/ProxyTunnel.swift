internal import EventLoop
internal import TLS

/// Tunnel through an HTTP proxy (RFC 9110 section 9.3.6): one request and the head of its answer. The type reads no
/// byte after the head.
struct ProxyTunnel {
  /// Maximum length of the head of the proxy's answer, in bytes. Real heads have some hundred bytes.
  private static let longestHead = 8192

  private var request: [UInt8]
  private var sent = 0
  private var head: [UInt8] = []

  /// - Parameters:
  ///   - target: host and port behind the proxy.
  ///   - login: login for Basic (RFC 7617); no other scheme is supported.
  init(to target: String, login: PushEndpoint.Proxy.Login?) {
    var text = "CONNECT \(target) HTTP/1.1\r\nHost: \(target)\r\n"
    if let login {
      text += "Proxy-Authorization: Basic \(Base64.encode(Array("\(login.user):\(login.password)".utf8)))\r\n"
    }
    request = Array((text + "\r\n").utf8)
  }

  /// Continues to open the tunnel.
  ///
  /// - Returns: the event to wait for; `nil` if the tunnel is open.
  /// - Throws: ``NativeFailure`` if the proxy refuses, ``EventLoop/SocketError`` if the connection to the proxy breaks.
  mutating func advance(over socket: Socket) throws -> IOResult? {
    while sent < request.count {
      let result = try request.withUnsafeBytes { try socket.write(UnsafeRawBufferPointer(rebasing: $0[sent...])) }
      guard case .bytes(let count) = result else { return result }
      sent += count
    }
    // Reads the head byte by byte, because the bytes after it belong to TLS. The head has about a hundred bytes and is
    // read once per connection.
    while !head.suffix(4).elementsEqual("\r\n\r\n".utf8) {
      var byte: UInt8 = 0
      let result = try withUnsafeMutableBytes(of: &byte) { try socket.read(into: $0) }
      guard case .bytes = result else {
        if result == .closed { throw NativeFailure("the proxy closed the connection instead of answering") }
        return result
      }
      head.append(byte)
      guard head.count < Self.longestHead else { throw NativeFailure("the proxy's answer has no end") }
    }
    let line = String(decoding: head.prefix { $0 != UInt8(ascii: "\r") }, as: UTF8.self)
    let words = line.split(separator: " ", maxSplits: 2)
    guard words.count >= 2, words[0].hasPrefix("HTTP/1."), words[1].first == "2" else {
      throw NativeFailure("the proxy refuses to connect: \(HeaderText.printable(line))")
    }
    return nil
  }
}

/// Text of a peer, made safe for logs.
enum HeaderText {
  private static let longest = 200

  static func printable(_ text: String) -> String {
    String(
      decoding: text.utf8.prefix(longest).map { (0x20..<0x7f).contains($0) ? $0 : UInt8(ascii: "?") }, as: UTF8.self)
  }
}
