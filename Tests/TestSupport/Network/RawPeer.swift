import EventLoop
import Glibc
public import TLS

/// The server's end of one HTTP/2 connection over TLS, frame by frame. It can send frames that no server should send.
///
/// Its methods block the thread, so use it on threads of a ``RawServer``. They give up if the client has disconnected
/// or `isOver` returns true.
public final class RawPeer {
  /// A frame in wire format (RFC 9113 section 4.1).
  public struct Frame: Equatable, Sendable {
    public var kind: UInt8
    public var flags: UInt8
    public var stream: UInt32
    public var payload: [UInt8]

    /// Creates a frame from its fields.
    public init(_ kind: UInt8, flags: UInt8 = 0, stream: UInt32 = 0, _ payload: [UInt8] = []) {
      self.kind = kind
      self.flags = flags
      self.stream = stream
      self.payload = payload
    }

    /// The bytes in wire format.
    public var bytes: [UInt8] {
      let length = payload.count
      return [
        UInt8(length >> 16 & 255), UInt8(length >> 8 & 255), UInt8(length & 255), kind, flags,
        UInt8(stream >> 24 & 255), UInt8(stream >> 16 & 255), UInt8(stream >> 8 & 255), UInt8(stream & 255),
      ] + payload
    }

    /// Returns a complete HEADERS frame with a literal header block.
    public static func headers(_ stream: UInt32, _ block: [UInt8], ends: Bool) -> Frame {
      Frame(1, flags: ends ? 5 : 4, stream: stream, block)
    }
    /// Returns a DATA frame.
    public static func data(_ stream: UInt32, _ payload: [UInt8], ends: Bool) -> Frame {
      Frame(0, flags: ends ? 1 : 0, stream: stream, payload)
    }
    /// Returns an RST_STREAM frame.
    public static func reset(_ stream: UInt32, _ code: UInt8) -> Frame { Frame(3, stream: stream, [0, 0, 0, code]) }
    /// Returns a GOAWAY frame.
    public static func goAway(_ last: UInt32, _ code: UInt8 = 0) -> Frame {
      Frame(7, [UInt8(last >> 24), UInt8(last >> 16 & 255), UInt8(last >> 8 & 255), UInt8(last & 255), 0, 0, 0, code])
    }
    /// An empty SETTINGS frame.
    public static var settings: Frame { Frame(4) }
    /// Returns a WINDOW_UPDATE frame of one byte.
    public static func windowUpdate(_ stream: UInt32) -> Frame { Frame(8, stream: stream, [0, 0, 0, 1]) }
    /// A PING frame.
    public static var ping: Frame { Frame(6, .init(repeating: 0, count: 8)) }
  }

  /// Returns a header field in HPACK, literal and not indexed (RFC 7541 section 6.2.2). Name and value must have less
  /// than 127 bytes.
  public static func field(_ name: String, _ value: String) -> [UInt8] {
    [0, UInt8(name.utf8.count)] + name.utf8 + [UInt8(value.utf8.count)] + value.utf8
  }

  private let stream: TLSStream
  private let isOver: @Sendable () -> Bool
  private var input: [UInt8] = []

  /// Length of the client's preface in bytes (RFC 9113 section 3.4).
  private static let preface = 24
  /// Interval in ms at which `isOver` is called.
  private static let timeout: Int32 = 50

  /// Performs the handshake. Returns `nil` if the client disconnected.
  public init?(_ descriptor: Int32, _ context: TLSContext, isOver: @escaping @Sendable () -> Bool) {
    self.isOver = isOver
    _ = fcntl(descriptor, F_SETFL, O_NONBLOCK)
    guard let socket = try? Socket.duplicate(of: descriptor), let stream = try? TLSStream(socket, context: context)
    else { return nil }
    self.stream = stream
    while true {
      do {
        guard let result = try stream.handshake() else { break }
        guard wait(for: result) else { return nil }
      } catch { return nil }
    }
  }

  /// Reads the client's preface, which precedes all frames.
  public func takePreface() -> Bool {
    while input.count < Self.preface { guard readMore() else { return false } }
    input.removeFirst(Self.preface)
    return true
  }

  /// Returns the client's next frame; `nil` if it has disconnected.
  public func next() -> Frame? {
    while true {
      if input.count >= 9 {
        let length = Int(input[0]) << 16 | Int(input[1]) << 8 | Int(input[2])
        if input.count >= 9 + length {
          let stream = input[5..<9].reduce(UInt32(0)) { $0 << 8 | UInt32($1) }
          let frame = Frame(input[3], flags: input[4], stream: stream, Array(input[9..<9 + length]))
          input.removeFirst(9 + length)
          return frame
        }
      }
      guard readMore() else { return nil }
    }
  }

  /// Returns the stream of the next complete request; `nil` if the client has disconnected.
  public func nextRequest() -> UInt32? {
    while let frame = next() {
      if frame.kind <= 1, frame.flags & 1 != 0 { return frame.stream }
    }
    return nil
  }

  /// - Returns: whether all bytes were accepted.
  @discardableResult
  public func write(_ frames: Frame...) -> Bool { write(frames.flatMap(\.bytes)) }

  /// - Returns: whether all bytes were accepted.
  @discardableResult
  public func write(_ bytes: [UInt8]) -> Bool {
    var rest = bytes[...]
    while !rest.isEmpty {
      guard let result = try? rest.withUnsafeBytes({ try stream.write($0) }) else { return false }
      if case .bytes(let count) = result {
        rest = rest.dropFirst(count)
      } else if !wait(for: result) {
        return false
      }
    }
    return true
  }

  /// Writes frames repeatedly until the client has disconnected.
  public func flood(_ frames: Frame...) {
    let once = frames.flatMap(\.bytes)
    // Some records at a time, to reach the highest possible rate.
    let many = [[UInt8]](repeating: once, count: max(1, 65_536 / once.count)).flatMap(\.self)
    while write(many), !isOver() {}
  }

  /// Sends TLS key updates repeatedly until the client has disconnected.
  public func floodKeyUpdates() {
    while !isOver() {
      do {
        if let result = try stream.updateKeys(), !wait(for: result) { return }
      } catch { return }
    }
  }

  /// Reads and answers nothing until the client has disconnected.
  public func fallSilent() { while next() != nil {} }

  private func readMore() -> Bool {
    withUnsafeTemporaryAllocation(byteCount: 16_384, alignment: 1) { buffer in
      while true {
        guard let result = try? stream.read(into: buffer) else { return false }
        if case .bytes(let count) = result {
          input += UnsafeRawBufferPointer(rebasing: buffer[..<count])
          return true
        }
        guard wait(for: result) else { return false }
      }
    }
  }

  private func wait(for result: IOResult) -> Bool {
    guard result != .closed else { return false }
    while !isOver() {
      var poll = pollfd(
        fd: stream.descriptor, events: Int16(result == .wantsWrite ? POLLOUT : POLLIN), revents: 0)
      if Glibc.poll(&poll, 1, Self.timeout) > 0 { return true }
    }
    return false
  }
}
