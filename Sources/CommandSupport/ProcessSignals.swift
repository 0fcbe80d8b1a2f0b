import Dispatch
import Glibc
import Synchronization

/// Signals that a command handles itself, in the order in which they arrive.
///
/// The handler writes each signal's number into a pipe, so none is lost: it is either handled by default, which ends the
/// process, or it is in the pipe. (A disposition of SIG_IGN beside a Dispatch source loses what arrives before the source is
/// registered.)
package struct ProcessSignals: Sendable {
  /// Signals that ask a process to stop.
  package static let stops: [Int32] = [SIGTERM, SIGINT]

  /// Their numbers. For one reader.
  package let numbers: AsyncStream<Int32>

  /// Handles these signals from now on, for the rest of the process. Every instance gets the signals that it asked for.
  package init(_ wanted: [Int32]) {
    let (stream, continuation) = AsyncStream.makeStream(of: Int32.self)
    numbers = stream
    Self.listeners.withLock { $0.append((Set(wanted), continuation)) }
    Self.isReady
    for number in wanted {
      // signal-safety(7): write(2) is safe in a handler. It may change errno, which the interrupted code may be about to read.
      signal(number) { number in
        let before = errno
        var byte = UInt8(truncatingIfNeeded: number)
        _ = write(ProcessSignals.writeEnd.load(ordering: .relaxed), &byte, 1)
        errno = before
      }
    }
  }

  private static let listeners = Mutex<[(wanted: Set<Int32>, continuation: AsyncStream<Int32>.Continuation)]>([])
  private static let writeEnd = Atomic<Int32>(-1)

  /// Makes the pipe, before the first handler is installed.
  private static let isReady: Void = {
    var ends: [Int32] = [-1, -1]
    // pipe(2): 0, or -1 with errno.
    let isMade = pipe(&ends) == 0
    precondition(isMade, "no pipe for signals: \(String(cString: strerror(errno)))")
    for end in ends {
      // fcntl(2): no end blocks, and no child inherits one. More signals than fit into 64 KiB are not needed.
      _ = fcntl(end, F_SETFL, O_NONBLOCK)
      _ = fcntl(end, F_SETFD, FD_CLOEXEC)
    }
    writeEnd.store(ends[1], ordering: .relaxed)
    let source = DispatchSource.makeReadSource(fileDescriptor: ends[0], queue: .global())
    source.setEventHandler { [end = ends[0]] in
      // The source lives as long as the process: its handler holds it.
      _ = source
      var byte: UInt8 = 0
      while read(end, &byte, 1) == 1 {
        let number = Int32(byte)
        let wanting = listeners.withLock { $0.filter { $0.wanted.contains(number) }.map(\.continuation) }
        for continuation in wanting { continuation.yield(number) }
      }
    }
    source.resume()
  }()
}
