/// Where one read of the socket lands. 64 KB holds some hundred commits' answers and is what a socket buffer gives.
final class ReadBuffer {
  let memory = UnsafeMutableRawBufferPointer.allocate(byteCount: 64 << 10, alignment: 16)
  deinit { memory.deallocate() }
}
