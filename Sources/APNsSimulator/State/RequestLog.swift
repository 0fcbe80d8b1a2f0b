internal import Glibc
internal import Synchronization

/// A write error of a simulator's log. After this error, the simulator answers no requests.
public struct RequestLogError: Error, Equatable, CustomStringConvertible {
  /// The file.
  public var path: String
  /// The system's error text.
  public var reason: String

  /// The path and the problem.
  public var description: String { "\(path): \(reason)" }
}

/// The append-only file with a line for every request received in full. The lines survive the death of any process.
/// Shared by all event loops; each loop collects its lines in a ``RequestLogLines``.
final class RequestLog: Sendable {
  /// Delivers the first failure. Only one task may read the stream.
  let failures: AsyncStream<RequestLogError>

  private let path: String
  private let descriptor: Int32
  private let continuation: AsyncStream<RequestLogError>.Continuation
  /// The lock also keeps the lines of two loops apart if the system splits a write.
  private let failure = Mutex<RequestLogError?>(nil)

  /// Opens the file for appending and creates it if needed.
  init(_ path: String) throws(RequestLogError) {
    descriptor = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0o644)
    self.path = path
    (failures, continuation) = AsyncStream.makeStream(of: RequestLogError.self, bufferingPolicy: .bufferingOldest(1))
    // If the initialiser throws after all properties are set, `deinit` runs and closes the descriptor. For -1, close(2)
    // fails without effect.
    if descriptor < 0 { throw RequestLogError(path: path, reason: String(cString: strerror(errno))) }
  }

  deinit {
    close(descriptor)
    continuation.finish()
  }

  /// Writes whole lines to the kernel, which keeps them if this process dies.
  ///
  /// - Throws: the first failure, also on every later call, because a log with a gap would be useless as proof.
  func append(_ lines: UnsafeRawBufferPointer) throws(RequestLogError) {
    let failed = failure.withLock { failure -> RequestLogError? in
      if failure == nil { failure = write(lines) }
      return failure
    }
    guard let failed else { return }
    continuation.yield(failed)
    throw failed
  }

  private func write(_ lines: UnsafeRawBufferPointer) -> RequestLogError? {
    var rest = lines
    while !rest.isEmpty {
      let count = Glibc.write(descriptor, rest.baseAddress, rest.count)
      if count >= 0 {
        rest = rest.dropping(count)
      } else if errno != EINTR {
        return RequestLogError(path: path, reason: String(cString: strerror(errno)))
      }
    }
    return nil
  }
}
