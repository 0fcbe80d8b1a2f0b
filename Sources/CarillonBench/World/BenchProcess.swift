import CommandSupport
import Foundation
import Glibc
import Synchronization

/// A program that a benchmark runs. The benchmark stops the program at its end. If the benchmark is killed, the kernel
/// kills the program.
final class BenchProcess: Sendable {
  /// Exit status and resource usage of a program.
  struct End: Sendable {
    /// Exit status; 128 and the signal's number after a death by a signal, as in shells.
    var status: Int32
    /// CPU time, user and system, of the program and the children that it waited for, in microseconds (getrusage(2)).
    var cpuMicroseconds: Double
  }

  /// The process id.
  let id: pid_t
  /// The files with its standard output and error.
  let output: String
  let errors: String

  private let name: String
  private let end = Mutex<End?>(nil)

  /// Maximum time in seconds from SIGTERM to the end of the program. Workers finish the pushes in flight in this time.
  private static let timeout = 10.0

  /// Starts a program from `PATH`.
  ///
  /// - Parameters:
  ///   - words: the program's name or path, and its arguments.
  ///   - environment: variables to add to the environment of this process.
  ///   - output: the file for standard output; standard error goes to the same name with `.err`.
  init(_ words: [String], environment: [String: String] = [:], output: String) throws {
    name = words[0].split(separator: "/").last.map(String.init) ?? words[0]
    self.output = output
    errors = output + ".err"
    // With setpriv, the kernel kills the program when this process dies for any reason. Every Debian and Ubuntu has
    // setpriv (util-linux).
    let launcher = access("/usr/bin/setpriv", X_OK) == 0 ? ["setpriv", "--pdeathsig", "KILL"] : []
    let command = ["env"] + environment.map { "\($0)=\($1)" }.sorted() + launcher + words
    id = try Self.starter.run { [errors] in try Self.spawn(command, output: output, errors: errors) }
  }

  deinit { stop() }

  /// Returns the end of the program; `nil` while it runs.
  func poll() -> End? {
    end.withLock { end in
      if end != nil { return end }
      var status: Int32 = 0
      var usage = rusage()
      // wait4(2) returns 0 while the child runs.
      guard wait4(id, &status, WNOHANG, &usage) == id else { return nil }
      // The macros of wait(2) are not imported. The low seven bits are the signal, the next byte is the status.
      let signal = status & 0x7F
      end = End(
        status: signal == 0 ? (status >> 8) & 0xFF : 128 + signal,
        cpuMicroseconds: usage.ru_utime.microseconds + usage.ru_stime.microseconds)
      return end
    }
  }

  /// Waits until the program has ended with status 0.
  ///
  /// - Throws: a ``CommandError`` with the last output if the status is not 0.
  func finish() async throws -> End {
    while true {
      if let end = poll() {
        guard end.status == 0 else { throw failure(status: end.status) }
        return end
      }
      try await Task.sleep(for: .milliseconds(5))
    }
  }

  /// Waits until `condition` is true. Throws if the program ends or the time is over.
  func wait(for what: String, seconds: Double, _ condition: () async throws -> Bool) async throws {
    let deadline = ContinuousClock.now + .seconds(seconds)
    while try await !condition() {
      if let end = poll() { throw failure(status: end.status) }
      guard ContinuousClock.now < deadline else { throw CommandError(.failed, "waited in vain for \(what)") }
      try await Task.sleep(for: .milliseconds(5))
    }
  }

  /// Sends a signal if the program still runs.
  func send(_ signal: Int32) {
    // The id can't belong to another process before poll() has collected the exit status.
    if poll() == nil { kill(id, signal) }
  }

  /// Ends the program, with SIGKILL after a timeout, and waits for the end. Works in a cancelled task too.
  func stop() {
    send(SIGTERM)
    let deadline = ContinuousClock.now + .seconds(Self.timeout)
    while poll() == nil {
      if ContinuousClock.now > deadline { send(SIGKILL) }
      usleep(2000)
    }
  }

  private func failure(status: Int32) -> CommandError {
    let text = [errors, output].map {
      String(decoding: FileManager.default.contents(atPath: $0) ?? Data(), as: UTF8.self)
    }
    let last = text.first { !$0.isEmpty }?.split(separator: "\n").suffix(3).joined(separator: " | ") ?? ""
    return CommandError(.failed, "\(name) ended with \(status): \(last)")
  }

  /// The thread that starts all programs. The death signal is sent when the *thread* that started the child ends
  /// (prctl(2)), and threads of Dispatch and of Swift's pool are temporary.
  private static let starter = StarterThread()

  private static func spawn(_ words: [String], output: String, errors: String) throws -> pid_t {
    var actions = posix_spawn_file_actions_t()
    posix_spawn_file_actions_init(&actions)
    defer { posix_spawn_file_actions_destroy(&actions) }
    posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0)
    posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, output, O_WRONLY | O_CREAT | O_TRUNC, 0o600)
    posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, errors, O_WRONLY | O_CREAT | O_TRUNC, 0o600)

    var attributes = posix_spawnattr_t()
    posix_spawnattr_init(&attributes)
    defer { posix_spawnattr_destroy(&attributes) }
    // This process ignores and blocks signals that the child needs. The child gets its own process group, so that
    // Ctrl-C on a terminal reaches only this process, which then stops the child.
    var signals = sigset_t()
    sigemptyset(&signals)
    posix_spawnattr_setsigmask(&attributes, &signals)
    sigfillset(&signals)
    posix_spawnattr_setsigdefault(&attributes, &signals)
    posix_spawnattr_setpgroup(&attributes, 0)
    posix_spawnattr_setflags(
      &attributes, Int16(POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETPGROUP))

    let arguments = words.map { strdup($0) } + [nil]
    defer { for argument in arguments { free(argument) } }
    var child: pid_t = 0
    let status = posix_spawnp(&child, words[0], &actions, &attributes, arguments, environ)
    guard status == 0 else {
      throw CommandError(.failed, "can't start \(words.joined(separator: " ")): \(String(cString: strerror(status)))")
    }
    return child
  }
}

/// One thread that lives as long as the process.
private final class StarterThread: Sendable {
  private let queue = Mutex<[@Sendable () -> Void]>([])
  private let work = DispatchSemaphore(value: 0)

  init() {
    let thread = Thread { [self] in
      while true {
        work.wait()
        queue.withLock { $0.removeFirst() }()
      }
    }
    thread.start()
  }

  /// Runs `body` on the thread and waits for it. Starting a program takes only a short time.
  func run(_ body: @escaping @Sendable () throws -> pid_t) throws -> pid_t {
    let result = Mutex<Result<pid_t, any Error>>(.success(0))
    let done = DispatchSemaphore(value: 0)
    queue.withLock {
      $0.append {
        let value = Result { try body() }
        result.withLock { $0 = value }
        done.signal()
      }
    }
    work.signal()
    done.wait()
    return try result.withLock { $0 }.get()
  }
}

extension timeval {
  /// The value in microseconds.
  var microseconds: Double { Double(tv_sec) * 1e6 + Double(tv_usec) }
}
