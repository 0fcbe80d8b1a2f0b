/// Bytes on their way out: whole pipelines, uncopied, and how far the first has gone.
struct OutgoingBytes {
  /// Small pipelines that have to wait are joined up to this size, so that they need one system call; beyond it copying
  /// costs more than the call.
  private static let joined = 16 << 10

  private var chunks: [[UInt8]] = []
  private var offset = 0
  /// Bytes given to the socket since the connection began.
  private(set) var written: UInt64 = 0
  /// Bytes accepted since the connection began.
  private(set) var accepted: UInt64 = 0

  var waiting: Int { Int(accepted - written) }

  mutating func append(_ bytes: [UInt8]) {
    accepted += UInt64(bytes.count)
    // The first chunk may be half sent already and is left alone.
    if chunks.count > 1, let last = chunks.indices.last, chunks[last].count + bytes.count <= Self.joined {
      chunks[last].append(contentsOf: bytes)
    } else {
      chunks.append(bytes)
    }
  }

  /// Calls `write` with what comes next, until nothing is left or it moved nothing.
  ///
  /// - Parameter write: returns how many bytes it took.
  mutating func drain(_ write: (UnsafeRawBufferPointer) throws -> Int) rethrows {
    while let first = chunks.first {
      let count = try first.withUnsafeBytes { try write(UnsafeRawBufferPointer(rebasing: $0[offset...])) }
      guard count > 0 else { return }
      written += UInt64(count)
      offset += count
      if offset == first.count {
        chunks.removeFirst()
        offset = 0
      }
    }
  }
}
