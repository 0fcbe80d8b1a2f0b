internal import EventLoop
internal import HTTP2
internal import TLS

/// The purpose of a connection: it answers the requests for one service, such as APNs, FCM or the control API. A role
/// gets the events of the streams like any session handler. It may also throw an error, which ends the connection.
protocol ConnectionRole: AnyObject {
  /// Called after the handshake.
  func opened() throws
  func received(_ fields: borrowing HeaderFields, on stream: HTTP2Stream) throws
  func received(_ bytes: UnsafeRawBufferPointer, on stream: HTTP2Stream) throws
  func ended(_ stream: HTTP2Stream) throws
  func closed(_ stream: HTTP2Stream, error: HTTP2ErrorCode)
  func refused(streamID: Int32) throws
  func pinged() throws
  /// Time after the handshake, in milliseconds, for which the connection writes nothing.
  var silence: Int { get }
  /// Whether the connection stays open after its last output until the client closes it.
  var lingers: Bool { get }
  /// Called before the connection writes output, so that the role can add more output.
  func willWrite() throws
  /// Called when the connection is closed. Its open streams get no answer.
  func abandoned()
}

extension ConnectionRole {
  func refused(streamID: Int32) throws {}
  func pinged() {}
  var silence: Int { 0 }
  var lingers: Bool { false }
}

/// An error that a role throws to end its connection outside of HTTP/2.
enum ConnectionCut: Error {
  /// Close immediately with an error that the client sees (TCP RST).
  case reset
  /// Keep the socket open, but never read from it or write to it again.
  case silence
  /// Close after all submitted output is written, with an orderly end of TLS and TCP.
  case finish
}

/// One accepted connection. It moves bytes between TLS and the HTTP/2 session. Confined to its loop.
final class Connection: HTTP2SessionHandler {
  /// The loop's next step for a connection.
  enum Progress {
    /// Wait for the socket.
    case waiting
    /// Read again soon: the connection has more input, but other connections have their turn first.
    case moreInput
    /// Close the connection.
    case finished
  }

  /// Number of TLS records that a connection reads before the loop serves other connections.
  private static let readsPerTurn = 16
  /// Number of TLS records that a connection reads before it writes answers. A busy sender therefore causes fewer
  /// writes, and a slow sender does not wait.
  private static let readsPerWrite = 4

  /// Creates the session and the role after the handshake, when the client's certificate is known.
  typealias Opening = (TLSStream) throws -> OpenedConnection

  private(set) var role: (any ConnectionRole)?
  /// The role, if it answers requests of a push service; otherwise `nil`.
  private(set) var service: (any ServiceRole)?
  private var session: (any WireSession)?
  private let open: Opening
  private let tls: TLSStream
  private let loop: LoopState
  /// Whether the connection has written its last byte and only waits until the client closes.
  private(set) var isLeaving = false
  /// Whether the loop has set a time limit for the client's close.
  var isAwaited = false
  /// Time on the loop's clock, in milliseconds, until which nothing is written.
  private var silentUntil: UInt64 = 0
  private var unwritten: [UInt8] = []
  private var failure: (any Error)?
  /// Whether the socket must become writable before the next write.
  private(set) var wantsWrite = false

  init(tls: TLSStream, loop: LoopState, open: @escaping Opening) {
    self.tls = tls
    self.loop = loop
    self.open = open
  }

  /// Reads and writes as much as the socket allows.
  func readAndWrite() throws -> Progress {
    if session == nil {
      switch try tls.handshake() {
      case nil:
        let (session, role) = try open(tls)
        (self.session, self.role, service) = (session, role, role as? any ServiceRole)
        if role.silence > 0 { silentUntil = LoopState.milliseconds + UInt64(role.silence) }
        try role.opened()
      case .wantsWrite:
        wantsWrite = true
        return .waiting
      case .closed: return .finished
      case .wantsRead, .bytes:
        wantsWrite = false
        return .waiting
      }
    }
    for turn in 1...Self.readsPerTurn {
      switch try tls.read(into: loop.input) {
      case .bytes(let count):
        // While the last bytes are sent, input is read and dropped: closing with unread bytes would reset the
        // connection and could lose the GOAWAY (RFC 9112 section 9.6 describes the same for HTTP/1.1).
        if isLeaving { continue }
        try session?.receive(UnsafeRawBufferPointer(rebasing: loop.input[..<count]), handler: self)
        if let failure { try end(failure) }
        if turn % Self.readsPerWrite == 0 { try flush() }
      case .wantsRead: return try flushed(.waiting)
      case .wantsWrite:
        wantsWrite = true
        return try flushed(.waiting)
      case .closed:
        return .finished
      }
    }
    return try flushed(.moreInput)
  }

  /// Ends the connection with an error from a role: immediately, or after all submitted output is written.
  private func end(_ failure: any Error) throws {
    guard case ConnectionCut.finish = failure else { throw failure }
    self.failure = nil
    try flush()
    leave()
  }

  private func leave() {
    guard !isLeaving else { return }
    isLeaving = true
    tls.finishWriting()
  }

  /// Notifies the role that its open streams ended with the connection.
  func abandon() { role?.abandoned() }

  private func flushed(_ progress: Progress) throws -> Progress {
    try flush()
    return progress
  }

  /// Writes the session's output as far as the socket accepts it. Flushes the log first, so that every answered request
  /// is logged.
  func flush() throws {
    try loop.log?.flush()
    guard let session, let role, !isLeaving, LoopState.milliseconds >= silentUntil else { return }
    if !unwritten.isEmpty {
      let written = try unwritten.withUnsafeBytes { try write($0) }
      unwritten.removeFirst(written)
      if !unwritten.isEmpty { return }
    }
    try role.willWrite()
    while let count = try gather(session) {
      let bytes = UnsafeRawBufferPointer(rebasing: loop.output[..<count])
      let written = try write(bytes)
      if written < count {
        unwritten.append(contentsOf: bytes[written...])
        return
      }
    }
    wantsWrite = false
    if session.isFinished, !role.lingers { leave() }
  }

  /// Collects output in the loop's buffer. Returns `nil` if the session has none.
  private func gather(_ session: any WireSession) throws -> Int? {
    var count = 0
    // A frame has at most 16,384 bytes of payload after a header of nine (RFC 9113 section 4). The loop reserves room
    // for one frame.
    while count + 16_384 + 9 <= loop.output.count, let chunk = try session.nextOutput(handler: self) {
      UnsafeMutableRawBufferPointer(rebasing: loop.output[count...]).copyMemory(from: chunk)
      count += chunk.count
    }
    return count == 0 ? nil : count
  }

  private func write(_ bytes: UnsafeRawBufferPointer) throws -> Int {
    var written = 0
    while written < bytes.count {
      guard case .bytes(let count) = try tls.write(UnsafeRawBufferPointer(rebasing: bytes[written...])) else {
        wantsWrite = true
        return written
      }
      written += count
    }
    return written
  }

  // MARK: HTTP2SessionHandler

  func received(_ fields: borrowing HeaderFields, on stream: HTTP2Stream) {
    do { try role?.received(fields, on: stream) } catch { failure = error }
  }

  func received(_ bytes: UnsafeRawBufferPointer, on stream: HTTP2Stream) {
    do { try role?.received(bytes, on: stream) } catch { failure = error }
  }

  func ended(_ stream: HTTP2Stream) {
    do { try role?.ended(stream) } catch { failure = error }
  }

  func closed(_ stream: HTTP2Stream, error: HTTP2ErrorCode) { role?.closed(stream, error: error) }

  func receivedPing() {
    do { try role?.pinged() } catch { failure = error }
  }

  func refused(streamID: Int32) {
    do { try role?.refused(streamID: streamID) } catch { failure = error }
  }
}
