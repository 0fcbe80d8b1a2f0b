import EventLoop

/// One direction of a proxied connection: pieces in transit, each with the time from which it may be forwarded.
struct ProxyPipe {
  private struct Piece {
    var due: UInt64
    var bytes: [UInt8]
  }

  /// Limit of the bytes in transit: enough for a delay of a second at 4 MB/s. Above the limit the source is not read
  /// until some bytes have left.
  private static let most = 4 << 20

  private var pieces: [Piece] = []
  private var offset = 0
  private var count = 0
  /// Whether the source has ended.
  var hasEnded = false
  /// Whether the destination was notified of the end.
  var hasForwardedEnd = false

  var isFull: Bool { count >= Self.most }
  var isEmpty: Bool { pieces.isEmpty }
  /// Due time of the next piece, on the clock of `EventLoop.now`.
  var due: UInt64? { pieces.first?.due }

  mutating func append(_ bytes: UnsafeRawBufferPointer, due: UInt64) {
    pieces.append(Piece(due: due, bytes: Array(bytes)))
    count += bytes.count
  }

  /// Writes the pieces that are due, as far as the socket accepts them.
  ///
  /// - Returns: the number of written bytes, and whether the rest must wait until the socket is writable.
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
