import EventLoop

/// One direction of a proxied connection: bytes on their way, each piece with the time from which it may go on.
struct ProxyPipe {
  private struct Piece {
    var due: UInt64
    var bytes: [UInt8]
  }

  /// Beyond that the source is not read until some have gone: a delay of a second at 4 MB/s.
  private static let most = 4 << 20

  private var pieces: [Piece] = []
  private var offset = 0
  private var count = 0
  /// The source will send no more.
  var hasEnded = false
  /// The destination was told so.
  var hasTold = false

  var isFull: Bool { count >= Self.most }
  var isEmpty: Bool { pieces.isEmpty }
  /// When the next piece may go, on the clock of `EventLoop.now`.
  var due: UInt64? { pieces.first?.due }

  mutating func append(_ bytes: UnsafeRawBufferPointer, due: UInt64) {
    pieces.append(Piece(due: due, bytes: Array(bytes)))
    count += bytes.count
  }

  /// Writes what is due, as far as the socket takes it.
  ///
  /// - Returns: how many bytes went, and whether the socket has to be writable for more.
  mutating func flush(to socket: Socket, now: UInt64) throws -> (count: Int, isBlocked: Bool) {
    var gone = 0
    while let piece = pieces.first, piece.due <= now {
      let result = try piece.bytes.withUnsafeBytes { bytes in
        try socket.write(UnsafeRawBufferPointer(rebasing: bytes[offset...]))
      }
      guard case .bytes(let written) = result else { return (gone, true) }
      gone += written
      count -= written
      offset += written
      if offset == piece.bytes.count {
        pieces.removeFirst()
        offset = 0
      }
    }
    return (gone, false)
  }
}
