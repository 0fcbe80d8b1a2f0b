internal import EventLoop
internal import HTTP2
internal import TLS

/// What a connection is for; told of its streams like any session handler, but free to fail the connection.
protocol ConnectionRole: AnyObject {
  /// The handshake is done.
  func opened() throws
  func received(_ fields: borrowing HeaderFields, on stream: HTTP2Stream) throws
  func received(_ bytes: UnsafeRawBufferPointer, on stream: HTTP2Stream) throws
  func ended(_ stream: HTTP2Stream) throws
  func closed(_ stream: HTTP2Stream, error: HTTP2ErrorCode)
  func refused(streamID: Int32) throws
  func pinged()
  /// How long nothing is written from now on, in milliseconds.
  var silence: Int { get }
  /// Whether the connection stays open when nothing is left to be said on it.
  var lingers: Bool { get }
  /// What was submitted goes out next; a last word may be added.
  func willWrite() throws
  /// The connection is closed; its open streams get no answer.
  func abandoned()
}

extension ConnectionRole {
  func refused(streamID: Int32) throws {}
  func pinged() {}
  var silence: Int { 0 }
  var lingers: Bool { false }
}

/// A role's wish to end its connection without the words of HTTP/2.
enum ConnectionCut: Error {
  /// At once, and so that the client learns of an error (TCP RST).
  case reset
  /// Not at all: the client never hears of it again.
  case silence
  /// After what was submitted has been written; in an orderly way for TLS and TCP.
  case finish
}

/// One accepted connection: moves bytes between TLS and the HTTP/2 session. Confined to its loop.
final class Connection: HTTP2SessionHandler {
  /// What the loop does next about a connection.
  enum Progress {
    /// Wait for the socket.
    case waiting
    /// Read again soon: its share of this turn is used up.
    case hungry
    /// Close it.
    case finished
  }

  /// Records read before other connections of the loop get their turn.
  private static let readsPerTurn = 16
  /// Records read before answers are written: fewer writes for a busy sender, no wait for a slow one.
  private static let readsPerWrite = 4

  /// Makes session and role when the handshake is done, and it is known what the client showed.
  typealias Opening = (TLSStream) throws -> (HTTP2Session, any ConnectionRole)

  private(set) var role: (any ConnectionRole)?
  private var session: HTTP2Session?
  private let open: Opening
  private let tls: TLSStream
  private let loop: LoopState
  /// Whether the last byte was written: only the client's close is waited for.
  private(set) var isLeaving = false
  /// Whether the loop has set a limit to that wait.
  var isAwaited = false
  /// Milliseconds on the loop's clock until which nothing is written.
  private var silentUntil: UInt64 = 0
  private var unwritten: [UInt8] = []
  private var failure: (any Error)?
  /// Whether the socket has to be writable before anything else can be sent.
  private(set) var wantsWrite = false

  init(tls: TLSStream, loop: LoopState, open: @escaping Opening) {
    self.tls = tls
    self.loop = loop
    self.open = open
  }

  /// Moves what can be moved in both directions.
  func pump() throws -> Progress {
    if session == nil {
      switch try tls.handshake() {
      case nil:
        let (session, role) = try open(tls)
        (self.session, self.role) = (session, role)
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
        // While the last bytes leave, the peer's are read and dropped: closing with unread bytes would reset the
        // connection and could take the GOAWAY with it (RFC 9112 section 9.6 tells the same story for HTTP/1.1).
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
    return try flushed(.hungry)
  }

  /// What a role threw ends the connection: at once, or when all that was submitted is written.
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

  /// Tells the role that its open streams are gone with the connection.
  func abandon() { role?.abandoned() }

  private func flushed(_ progress: Progress) throws -> Progress {
    try flush()
    return progress
  }

  /// Writes what the session has to say, as far as the socket takes it; what it answers to is in the log before.
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

  /// Collects output in the loop's buffer; `nil` when there is none.
  private func gather(_ session: HTTP2Session) throws -> Int? {
    var count = 0
    // A frame has at most 16,384 bytes of payload behind nine of header (RFC 9113 section 4): room for one is kept.
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

  func receivedPing() { role?.pinged() }

  func refused(streamID: Int32) {
    do { try role?.refused(streamID: streamID) } catch { failure = error }
  }
}
