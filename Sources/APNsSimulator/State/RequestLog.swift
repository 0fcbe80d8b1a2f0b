internal import Glibc
internal import Synchronization

/// Why a simulator's log can't be written: from then on it answers nothing.
public struct RequestLogError: Error, Equatable, CustomStringConvertible {
  /// The file.
  public var path: String
  /// The system's own words.
  public var reason: String

  /// The path and what is wrong with it.
  public var description: String { "\(path): \(reason)" }
}

/// The append-only file with a line for every request that was received in full, whoever dies afterwards. Shared by all
/// event loops; each gathers its lines in a ``RequestLogLines``.
final class RequestLog: Sendable {
  /// The failure, once there is one; for one reader.
  let failures: AsyncStream<RequestLogError>

  private let path: String
  private let descriptor: Int32
  private let continuation: AsyncStream<RequestLogError>.Continuation
  /// The lock also keeps lines of two loops from being mixed when the system takes a write in pieces.
  private let failure = Mutex<RequestLogError?>(nil)

  /// Opens the file, makes it when it isn't there, and goes on at its end.
  init(_ path: String) throws(RequestLogError) {
    descriptor = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0o644)
    self.path = path
    (failures, continuation) = AsyncStream.makeStream(of: RequestLogError.self, bufferingPolicy: .bufferingOldest(1))
    // deinit runs for a class that throws once all its properties are set; close(2) of -1 is an error without effect.
    if descriptor < 0 { throw RequestLogError(path: path, reason: String(cString: strerror(errno))) }
  }

  deinit {
    close(descriptor)
    continuation.finish()
  }

  /// Hands whole lines to the kernel, which keeps them whatever happens to this process.
  ///
  /// - Throws: the first failure, ever after: a log with a hole would prove nothing.
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
