/// What one attempt to read or write without blocking came to.
public enum IOResult: Equatable, Sendable {
  /// This many bytes (at least one) were moved.
  case bytes(Int)
  /// Nothing can move until the socket is readable.
  case wantsRead
  /// Nothing can move until the socket is writable.
  case wantsWrite
  /// The peer closed in an orderly way; no more bytes will come.
  case closed
}

/// A non-blocking stream of bytes over a socket: plain TCP, or TLS above it.
///
/// Confined to the loop of its socket. After a thrown error the stream is dead and must be closed.
public protocol ByteStream: AnyObject {
  /// The descriptor to watch for readiness.
  var descriptor: Int32 { get }
  /// Carries the stream's own handshake forward; `.bytes(0)` is never returned, `nil` means the stream is ready.
  func handshake() throws -> IOResult?
  /// Reads at most `buffer.count` bytes.
  func read(into buffer: UnsafeMutableRawBufferPointer) throws -> IOResult
  /// Writes at most `bytes.count` bytes.
  func write(_ bytes: UnsafeRawBufferPointer) throws -> IOResult
}
