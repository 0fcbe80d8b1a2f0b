/// Queue of bytes to send. It stores whole pipelines without copying them, and the number of bytes of the first
/// pipeline that were sent.
struct OutgoingBytes {
  /// Maximum size in bytes up to which waiting pipelines are copied together, so that one system call sends them. Above
  /// this size, copying costs more than a further system call.
  private static let joined = 16 << 10

  private var chunks: [[UInt8]] = []
  private var offset = 0
  /// Number of bytes that the socket has taken since the connection began.
  private(set) var written: UInt64 = 0
  /// Number of bytes that were added to the queue since the connection began.
  private(set) var accepted: UInt64 = 0

  var waiting: Int { Int(accepted - written) }

  mutating func append(_ bytes: [UInt8]) {
    accepted += UInt64(bytes.count)
    // The first chunk must not change, because it may be partly sent.
    if chunks.count > 1, let last = chunks.indices.last, chunks[last].count + bytes.count <= Self.joined {
      chunks[last].append(contentsOf: bytes)
    } else {
      chunks.append(bytes)
    }
  }

  /// Calls `write` with the next bytes until nothing is left, or until a call writes nothing.
  ///
  /// - Parameter write: returns the number of bytes that it wrote.
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
