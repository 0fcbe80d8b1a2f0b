/// Result of one attempt to read or write without blocking.
public enum IOResult: Equatable, Sendable {
  /// This number of bytes (at least one) was transferred.
  case bytes(Int)
  /// No byte can be transferred until the socket is readable.
  case wantsRead
  /// No byte can be transferred until the socket is writable.
  case wantsWrite
  /// The peer closed the stream in order; no more bytes will arrive.
  case closed
}

/// Non-blocking stream of bytes over a socket: plain TCP, or TLS over TCP.
///
/// Confined to the loop of its socket. After a thrown error, the stream is dead and must be closed.
public protocol ByteStream: AnyObject {
  /// Continues the stream's own handshake. `nil` means that the stream is ready; `.bytes` is never returned.
  func handshake() throws -> IOResult?
  /// Reads at most `buffer.count` bytes.
  func read(into buffer: UnsafeMutableRawBufferPointer) throws -> IOResult
  /// Writes at most `bytes.count` bytes.
  func write(_ bytes: UnsafeRawBufferPointer) throws -> IOResult
}
