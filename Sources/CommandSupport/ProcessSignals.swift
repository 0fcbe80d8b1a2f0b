import Foundation
import Glibc
import Synchronization

/// Signals that a command handles itself, in the order of their arrival.
///
/// The handler writes each signal's number into a pipe, so no signal is lost. Before the handler is installed, a signal
/// has its default action, which ends the process. After that, the signal's number is in the pipe. (With SIG_IGN and a
/// Dispatch source, a signal that arrives before the registration of the source would be lost.) A separate thread reads
/// the pipe, so that a busy queue or executor does not delay a signal.
///
/// The default action must not end a long-running command while it starts. Therefore ``block()`` is the first statement
/// of the program. When the command is known, ``handle(_:)`` installs the handlers, and ``release(_:)`` unblocks the
/// signals. Signals that arrive before an instance asks for them are kept.
package struct ProcessSignals: Sendable {
  /// Signals that ask a process to stop.
  package static let stops: [Int32] = [SIGTERM, SIGINT]
  /// Signals that ask a process to stop or to reload its configuration. They are blocked while the process starts, so
  /// that none is lost.
  private static let held = stops + [SIGHUP]

  /// The numbers of the received signals. Only one reader is allowed.
  package let numbers: AsyncStream<Int32>

  /// Handles these signals for the rest of the process. Every instance gets the signals that it has asked for. The
  /// first instance that asks for a signal also gets those that arrived after ``handle(_:)`` was called.
  package init(_ wanted: [Int32]) {
    let (stream, continuation) = AsyncStream.makeStream(of: Int32.self)
    numbers = stream
    let kept = Self.listeners.withLock { listeners in
      listeners.all.append((Set(wanted), continuation))
      defer { listeners.kept.removeAll { wanted.contains($0) } }
      return listeners.kept.filter { wanted.contains($0) }
    }
    for number in kept { continuation.yield(number) }
    Self.handle(wanted)
  }

  /// Blocks signals until ``release(_:)``. Must be called before the process has a second thread, because threads
  /// inherit the signal mask of their creator (pthread_sigmask(3)).
  ///
  /// - Returns: the previous signal mask.
  static func block() -> sigset_t {
    var set = sigset_t()
    var former = sigset_t()
    sigemptyset(&set)
    for number in held { sigaddset(&set, number) }
    pthread_sigmask(SIG_BLOCK, &set, &former)
    return former
  }

  /// Unblocks the signals. Signals that arrived in the meantime take effect now.
  ///
  /// - Parameter former: the result of ``block()``.
  static func release(_ former: sigset_t) {
    var former = former
    pthread_sigmask(SIG_SETMASK, &former, nil)
  }

  /// Installs the handler for these signals. Received signals are kept until an instance asks for them.
  static func handle(_ wanted: [Int32]) {
    isReady
    for number in wanted {
      // signal-safety(7): write(2) is safe in a handler. write(2) may change errno, which the interrupted code may be
      // about to read, so errno is restored.
      signal(number) { number in
        let before = errno
        var byte = UInt8(truncatingIfNeeded: number)
        _ = write(ProcessSignals.writeEnd.load(ordering: .relaxed), &byte, 1)
        errno = before
      }
    }
  }

  /// Ends the process if it still runs `seconds` after the first signal to stop. A separate thread measures the time,
  /// so the limit works even if an engine, an event loop or an executor hangs. Call this function before the first
  /// instance is created.
  ///
  /// - Parameters:
  ///   - seconds: maximum duration of a stop. The time during which the process is suspended (SIGSTOP) does not count.
  ///   - end: ends the process. Called on the separate thread.
  package static func limitStop(to seconds: Int, _ end: @escaping @Sendable () -> Never) {
    let lastResort = LastResort(seconds: seconds, end: end)
    let isAsked = listeners.withLock { listeners in
      // `kept` contains the signals that arrived while the process started.
      let isAsked = listeners.kept.contains { stops.contains($0) }
      if !isAsked { listeners.lastResort = lastResort }
      return isAsked
    }
    if isAsked { lastResort.start() }
  }

  private struct LastResort {
    var seconds: Int
    var end: @Sendable () -> Never

    func start() {
      let thread = Thread { [self] in
        // The thread sleeps one second at a time, so that a suspension of the process (SIGSTOP) counts as at most one
        // second.
        for _ in 0..<seconds { sleep(1) }
        end()
      }
      thread.name = "last resort"
      thread.start()
    }
  }

  private struct Listeners {
    /// Ends a process that does not stop; `nil` after its thread has started.
    var lastResort: LastResort?
    var all: [(wanted: Set<Int32>, continuation: AsyncStream<Int32>.Continuation)] = []
    /// Signals that have arrived and for which no instance has asked yet.
    var kept: [Int32] = []
  }

  /// Maximum number of kept signals. Pressing Ctrl-C more often than this has no further effect.
  private static let maximumKept = 64

  private static let listeners = Mutex(Listeners())
  private static let writeEnd = Atomic<Int32>(-1)

  /// Creates the pipe and its reader thread. Must run before the first handler is installed.
  private static let isReady: Void = {
    var ends: [Int32] = [-1, -1]
    // pipe(2) returns 0, or -1 with errno.
    let isMade = pipe(&ends) == 0
    precondition(isMade, "no pipe for signals: \(String(cString: strerror(errno)))")
    // fcntl(2): a handler must not block, and no child process inherits an end of the pipe. If the pipe (64 KiB) is
    // full, further signals are dropped.
    _ = fcntl(ends[1], F_SETFL, O_NONBLOCK)
    for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
    writeEnd.store(ends[1], ordering: .relaxed)
    let reader = Thread { [end = ends[0]] in
      var byte: UInt8 = 0
      while true {
        let count = read(end, &byte, 1)
        if count == 1 { deliver(Int32(byte)) } else if count == 0 || errno != EINTR { return }
      }
    }
    reader.name = "signals"
    reader.start()
  }()

  private static func deliver(_ number: Int32) {
    let (wanting, lastResort) = listeners.withLock { listeners in
      let lastResort = stops.contains(number) ? listeners.lastResort : nil
      if lastResort != nil { listeners.lastResort = nil }
      let wanting = listeners.all.filter { $0.wanted.contains(number) }.map(\.continuation)
      if wanting.isEmpty, listeners.kept.count < maximumKept { listeners.kept.append(number) }
      return (wanting, lastResort)
    }
    lastResort?.start()
    for continuation in wanting { continuation.yield(number) }
  }
}
