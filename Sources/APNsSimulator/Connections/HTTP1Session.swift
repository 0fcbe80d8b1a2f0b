internal import HTTP2

/// The server's end of an HTTP/1.1 connection (RFC 9112). It reports each request as a separate stream, with the
/// pseudo-headers of HTTP/2, so that a role can serve both versions of HTTP.
///
/// The session handles one request at a time. Further requests wait in the buffer until the role has submitted the
/// answer.
final class HTTP1Session: WireSession {
  /// A request that is not valid HTTP/1.1. The connection is closed.
  struct Malformed: Error {}

  /// The part of the request that comes next.
  private enum Part {
    case head
    case body(rest: Int)
    case chunkSize
    case chunk(rest: Int)
    case trailers
    /// The request is complete, and its answer is not submitted yet.
    case answer
  }

  /// Maximum size of a request's head in bytes. An access token has at most 2,048 bytes.
  private static let longestHead = 16_384
  /// Maximum size of the buffer in bytes. A client that pipelines more requests must wait for its answers.
  private static let longestBuffer = 1 << 20
  /// Maximum size of one piece of output in bytes, as for an HTTP/2 frame.
  private static let piece = 16_384

  private var input: [UInt8] = []
  private var output: [UInt8] = []
  private var sent = 0
  /// Memory for the piece of output that the caller reads.
  private let window = UnsafeMutableRawBufferPointer.allocate(byteCount: piece, alignment: 1)
  /// The stream whose answer is submitted but not read yet.
  private var answered: HTTP2Stream?
  private var part = Part.head
  private var stream: HTTP2Stream?
  private var fields = HeaderFields()
  private var isLast = false
  private(set) var lastProcessedStreamID: Int32 = 0

  deinit { window.deallocate() }

  func receive(_ bytes: UnsafeRawBufferPointer, handler: any HTTP2SessionHandler) throws {
    input.append(contentsOf: bytes)
    guard input.count <= Self.longestBuffer else { throw Malformed() }
    try advance(handler)
  }

  func nextOutput(handler: any HTTP2SessionHandler) throws -> UnsafeRawBufferPointer? {
    if sent == output.count {
      output.removeAll(keepingCapacity: true)
      sent = 0
      if let answered {
        self.answered = nil
        handler.closed(answered, error: .noError)
      }
      // The answer is written, so the next request can be read.
      if stream == nil, !isLast { try advance(handler) }
      if output.isEmpty { return nil }
    }
    let count = min(output.count - sent, Self.piece)
    output.withUnsafeBytes { window.copyMemory(from: UnsafeRawBufferPointer(rebasing: $0[sent..<(sent + count)])) }
    sent += count
    return UnsafeRawBufferPointer(rebasing: window[..<count])
  }

  var isFinished: Bool { isLast && stream == nil && sent == output.count }

  func respond(to stream: HTTP2Stream, _ fields: borrowing HeaderFields, body: [UInt8]?) throws -> Bool {
    guard stream == self.stream, case .answer = part else { return false }
    write("HTTP/1.1 \(fields[":status"] ?? "500") \r\n")
    for index in 0..<fields.count where fields.name(index).first != UInt8(ascii: ":") {
      output.append(contentsOf: fields.name(index))
      write(": ")
      output.append(contentsOf: fields.value(index))
      write("\r\n")
    }
    write("content-length: \(body?.count ?? 0)\r\n")
    if isLast { write("connection: close\r\n") }
    write("\r\n")
    output += body ?? []
    self.stream = nil
    answered = stream
    part = .head
    return true
  }

  /// Resets the connection, because HTTP/1.1 can't end a single request.
  func reset(_ stream: HTTP2Stream, error: HTTP2ErrorCode) throws { throw ConnectionCut.reset }

  /// Ends the connection after the open request.
  func goAway(lastStreamID: Int32, error: HTTP2ErrorCode, debugData: [UInt8]) { isLast = true }

  private func write(_ text: String) { output.append(contentsOf: text.utf8) }

  // MARK: Requests

  private func advance(_ handler: any HTTP2SessionHandler) throws {
    while try step(handler) {}
  }

  /// Reads one part of a request. Returns `false` if more bytes are needed, or if the answer to the last request is not
  /// submitted yet.
  private func step(_ handler: any HTTP2SessionHandler) throws -> Bool {
    switch part {
    case .answer: return false
    case .head:
      // Waits until the previous answer was read, so that its stream is closed before the next one begins.
      guard !isLast, answered == nil else { return false }
      guard let end = endOfHead else {
        guard input.count < Self.longestHead else { throw Malformed() }
        return false
      }
      try begin(String(decoding: input[..<end], as: UTF8.self), handler)
      input.removeFirst(end + 4)
    case .body(let rest):
      guard rest > 0 else {
        finish(handler)
        return true
      }
      guard let count = take(rest, handler) else { return false }
      part = .body(rest: rest - count)
    case .chunkSize:
      guard let line = try line() else { return false }
      let digits = line.prefix { $0 != UInt8(ascii: ";") }
      guard let size = Int(String(decoding: digits, as: UTF8.self), radix: 16), size >= 0 else { throw Malformed() }
      part = size == 0 ? .trailers : .chunk(rest: size)
    case .chunk(let rest):
      guard rest > 0 else {
        guard try line() != nil else { return false }
        part = .chunkSize
        return true
      }
      guard let count = take(rest, handler) else { return false }
      part = .chunk(rest: rest - count)
    case .trailers:
      guard let line = try line() else { return false }
      if line.isEmpty { finish(handler) }
    }
    return true
  }

  private var endOfHead: Int? {
    guard input.count >= 4 else { return nil }
    let last = min(input.count, Self.longestHead) - 4
    return (0...last).first { input[$0...].starts(with: [0x0D, 0x0A, 0x0D, 0x0A]) }
  }

  private func begin(_ head: String, _ handler: any HTTP2SessionHandler) throws {
    let lines = head.split(separator: "\r\n", omittingEmptySubsequences: false)
    let request = lines[0].split(separator: " ")
    guard request.count == 3 else { throw Malformed() }
    fields.removeAll()
    fields.add(":method", String(request[0]))
    fields.add(":scheme", "https")
    fields.add(":path", String(request[1]))
    part = .body(rest: 0)
    if request[2] != "HTTP/1.1" { isLast = true }
    for line in lines.dropFirst() {
      guard let colon = line.firstIndex(of: ":") else { throw Malformed() }
      let name = line[..<colon].lowercased()
      let value = Self.trimmed(line[line.index(after: colon)...])
      switch name {
      case "host": fields.add(":authority", value)
      case "connection": if value.lowercased() == "close" { isLast = true }
      case "content-length":
        guard let count = Int(value), count >= 0 else { throw Malformed() }
        part = .body(rest: count)
      case "transfer-encoding": part = .chunkSize
      case "expect": write("HTTP/1.1 100 Continue\r\n\r\n")
      default: fields.add(name, value)
      }
    }
    // Identifiers of a client's streams are odd (RFC 9113 section 5.1.1).
    lastProcessedStreamID = lastProcessedStreamID == 0 ? 1 : lastProcessedStreamID + 2
    let stream = HTTP2Stream(id: lastProcessedStreamID, slot: 0)
    self.stream = stream
    handler.received(fields, on: stream)
  }

  private static func trimmed(_ text: Substring) -> String {
    String(text.drop { $0 == " " || $0 == "\t" }.reversed().drop { $0 == " " || $0 == "\t" }.reversed())
  }

  /// Reports at most `most` bytes of the body to the handler, and returns their number. Returns `nil` if no bytes have
  /// arrived.
  private func take(_ most: Int, _ handler: any HTTP2SessionHandler) -> Int? {
    let count = min(most, input.count)
    guard count > 0, let stream else { return nil }
    input.withUnsafeBytes { handler.received(UnsafeRawBufferPointer(rebasing: $0[..<count]), on: stream) }
    input.removeFirst(count)
    return count
  }

  /// Removes the next line from the buffer and returns it without its line break; `nil` if the line is incomplete.
  private func line() throws -> [UInt8]? {
    guard let end = input.firstIndex(of: 0x0A) else {
      guard input.count <= Self.longestHead else { throw Malformed() }
      return nil
    }
    defer { input.removeFirst(end + 1) }
    return Array(input[..<end].last == 0x0D ? input[..<(end - 1)] : input[..<end])
  }

  private func finish(_ handler: any HTTP2SessionHandler) {
    part = .answer
    if let stream { handler.ended(stream) }
  }
}
