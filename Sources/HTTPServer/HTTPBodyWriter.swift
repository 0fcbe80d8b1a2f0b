import CMicrohttpd
import Synchronization

/// Takes a body piece by piece and keeps no more of it than a slow client leaves room for.
public final class HTTPBodyWriter: Sendable {
  /// The client is gone, or the server stops.
  public struct Closed: Error {
    public init() {}
  }

  /// Bytes that wait for the client before who writes has to wait: some round trips' worth.
  private static let limit = 256 * 1024

  private struct State {
    var buffer: [UInt8] = []
    /// Bytes of ``buffer`` that were sent.
    var sent = 0
    var isFinished = false
    /// The rest is missing.
    var isBroken = false
    /// Nobody reads any more.
    var isClosed = false
    /// The connection that waits for bytes.
    var suspended: ConnectionHandle?
    var writer: CheckedContinuation<Void, Never>?
  }

  private let state = Mutex(State())

  init() {}

  /// Hands over bytes, and returns when there is room for more.
  ///
  /// - Throws: ``Closed`` when nobody reads any more.
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
      let mayGoOn = state.withLock { state in
        if state.isClosed || state.buffer.count - state.sent < Self.limit { return true }
        state.writer = continuation
        return false
      }
      if mayGoOn { continuation.resume() }
    }
  }

  /// Nothing more comes.
  ///
  /// - Parameter isBroken: whether something is missing.
  func finish(isBroken: Bool) {
    let suspended = state.withLock { state in
      state.isFinished = true
      state.isBroken = isBroken
      defer { state.suspended = nil }
      return state.suspended
    }
    suspended?.resume()
  }

  /// Nobody reads any more, or nobody is to.
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

  /// Fills `target` with what is there; called by libmicrohttpd as its content reader, on its thread.
  ///
  /// - Returns: bytes, or what `MHD_ContentReaderCallback` has for the end.
  func read(into target: UnsafeMutableRawBufferPointer, for connection: ConnectionHandle) -> Int {
    let (count, writer) = state.withLock { state -> (Int, CheckedContinuation<Void, Never>?) in
      let available = state.buffer.count - state.sent
      guard available > 0 else {
        // MHD_CONTENT_READER_END_OF_STREAM and MHD_CONTENT_READER_END_WITH_ERROR, which are macros with casts.
        if state.isFinished { return (state.isBroken ? -2 : -1, nil) }
        // MHD_suspend_connection may be called from the content reader, which then returns 0. Under the lock: who writes
        // resumes what is suspended, never what is about to be.
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

/// A connection of libmicrohttpd that is asleep, or goes to sleep.
///
/// `@unchecked Sendable` is sound because nothing but `MHD_resume_connection` is called on it from other threads than
/// libmicrohttpd's, which its header allows, and only between a suspension and the resumption that ends it: meanwhile
/// libmicrohttpd neither closes nor frees it.
struct ConnectionHandle: @unchecked Sendable {
  let pointer: OpaquePointer

  func suspend() { MHD_suspend_connection(pointer) }
  func resume() { MHD_resume_connection(pointer) }
}
