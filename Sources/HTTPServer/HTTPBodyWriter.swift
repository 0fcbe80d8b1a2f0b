import CMicrohttpd
import Synchronization

/// Writer of a response body in pieces. If the client is slow, the writer waits instead of storing more bytes.
public final class HTTPBodyWriter: Sendable {
  /// The error of a write after the client has disconnected, or while the server stops.
  public struct Closed: Error {
    public init() {}
  }

  /// Maximum number of bytes that wait for the client. A further write waits. These bytes are enough for some round
  /// trips.
  private static let limit = 256 * 1024

  private struct State {
    var buffer: [UInt8] = []
    /// Number of bytes of ``buffer`` that were sent.
    var sent = 0
    var isFinished = false
    /// Whether the body ended with an error, so that its rest is missing.
    var isBroken = false
    /// Whether the body has lost its reader: the client has disconnected, or the server stops.
    var isClosed = false
    /// The connection that waits for bytes.
    var suspended: ConnectionHandle?
    var writer: CheckedContinuation<Void, Never>?
  }

  private let state = Mutex(State())

  init() {}

  /// Adds bytes, and returns when there is room for more.
  ///
  /// - Throws: ``Closed`` if the client has disconnected, or the server stops.
  public func write(_ bytes: [UInt8]) async throws {
    guard !bytes.isEmpty else { return }
    let suspended = try state.withLock { state throws(Closed) in
      guard !state.isClosed else { throw Closed() }
      state.buffer += bytes
      defer { state.suspended = nil }
      return state.suspended
    }
    suspended?.resume()
    await withCheckedContinuation { continuation in
      let mayContinue = state.withLock { state in
        if state.isClosed || state.buffer.count - state.sent < Self.limit { return true }
        state.writer = continuation
        return false
      }
      if mayContinue { continuation.resume() }
    }
  }

  /// Ends the body.
  ///
  /// - Parameter isBroken: Whether the body ended with an error, so that its rest is missing.
  func finish(isBroken: Bool) {
    let suspended = state.withLock { state in
      state.isFinished = true
      state.isBroken = isBroken
      defer { state.suspended = nil }
      return state.suspended
    }
    suspended?.resume()
  }

  /// Closes the body, because the client has disconnected or the server stops.
  func close() {
    let (writer, suspended) = state.withLock { state in
      state.isClosed = true
      state.isBroken = !state.isFinished || state.isBroken
      state.isFinished = true
      state.buffer = []
      state.sent = 0
      defer { (state.writer, state.suspended) = (nil, nil) }
      return (state.writer, state.suspended)
    }
    writer?.resume()
    suspended?.resume()
  }

  /// Fills `target` with the available bytes. This function is libmicrohttpd's content reader and runs on
  /// libmicrohttpd's thread.
  ///
  /// - Returns: The number of bytes, or a value of `MHD_ContentReaderCallback` for the end.
  func read(into target: UnsafeMutableRawBufferPointer, for connection: ConnectionHandle) -> Int {
    let (count, writer) = state.withLock { state -> (Int, CheckedContinuation<Void, Never>?) in
      let available = state.buffer.count - state.sent
      guard available > 0 else {
        // MHD_CONTENT_READER_END_OF_STREAM and MHD_CONTENT_READER_END_WITH_ERROR, which are macros with casts.
        if state.isFinished { return (state.isBroken ? -2 : -1, nil) }
        // The content reader may call MHD_suspend_connection and must then return 0. The call is made under the lock,
        // so that a writer resumes only connections that are already suspended.
        connection.suspend()
        state.suspended = connection
        return (0, nil)
      }
      let count = min(available, target.count)
      state.buffer.withUnsafeBytes { bytes in
        target.copyMemory(from: UnsafeRawBufferPointer(rebasing: bytes[state.sent..<state.sent + count]))
      }
      state.sent += count
      if state.sent == state.buffer.count {
        state.buffer.removeAll(keepingCapacity: true)
        state.sent = 0
      }
      guard state.buffer.count - state.sent < Self.limit else { return (count, nil) }
      defer { state.writer = nil }
      return (count, state.writer)
    }
    writer?.resume()
    return count
  }
}

/// A connection of libmicrohttpd that is suspended, or is about to be suspended.
///
/// `@unchecked Sendable` is sound because threads other than libmicrohttpd's call only `MHD_resume_connection` with the
/// pointer, which microhttpd.h allows. They call it only while the connection is suspended. During that time,
/// libmicrohttpd neither closes nor frees the connection.
struct ConnectionHandle: @unchecked Sendable {
  let pointer: OpaquePointer

  func suspend() { MHD_suspend_connection(pointer) }
  func resume() { MHD_resume_connection(pointer) }
}
