/// Where reads of sockets land: one for everything that is read on a loop, as only one is read at a time.
///
/// `@unchecked Sendable` is sound because only its owner's loop reads or writes the bytes.
public final class ReadBuffer: @unchecked Sendable {
  /// The bytes, valid as long as this object.
  public let bytes: UnsafeMutableRawBufferPointer

  /// - Parameter count: of bytes at most in one read.
  public init(count: Int) { bytes = .allocate(byteCount: count, alignment: 16) }

  deinit { bytes.deallocate() }
}
