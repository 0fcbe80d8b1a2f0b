/// Buffer for reads from sockets. All connections of an event loop can share one buffer, because their reads run one
/// after the other.
///
/// `@unchecked Sendable` is sound because only its owner's loop reads or writes the bytes.
public final class ReadBuffer: @unchecked Sendable {
  /// Bytes of the buffer, valid as long as this object.
  public let bytes: UnsafeMutableRawBufferPointer

  /// - Parameter count: maximum number of bytes of one read.
  public init(count: Int) { bytes = .allocate(byteCount: count, alignment: 16) }

  deinit { bytes.deallocate() }
}
