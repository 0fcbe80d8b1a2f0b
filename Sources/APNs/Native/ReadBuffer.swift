/// Where an engine reads to: one for all its connections, as only one is read at a time.
///
/// `@unchecked Sendable` is sound because only its engine, confined to its loop, reads or writes the bytes.
final class ReadBuffer: @unchecked Sendable {
  let bytes = UnsafeMutableRawBufferPointer.allocate(byteCount: 16_384, alignment: 16)
  deinit { bytes.deallocate() }
}
