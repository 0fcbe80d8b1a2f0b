import Dispatch
public import Foundation
import Glibc
import Synchronization

/// A program that a test runs. It never outlives the tests.
public final class ChildProcess: Sendable {
  /// How a program ended.
  public enum Exit: Equatable, Sendable {
    /// Exit with this status; 127 if the program does not exist.
    case status(Int32)
    /// End by a signal.
    case signal(Int32)
  }

  /// The output of a finished program.
  public struct Output: Sendable {
    /// How it ended.
    public var exit: Exit
    /// Its standard output.
    public var standardOutput: String
    /// Its standard error.
    public var standardError: String
  }

  /// The lines of standard output, buffered until they are read. Only one task may read them.
  public let lines: AsyncStream<String>
  /// The lines of standard error, buffered until they are read. Only one task may read them.
  public let errorLines: AsyncStream<String>
  /// The process id.
  public let processIdentifier: Int32

  private let outcome: Outcome

  /// Starts a program.
  ///
  /// - Parameters:
  ///   - executable: a path, or a name in `PATH`.
  ///   - arguments: without the program's name.
  ///   - environment: added to the environment of this process.
  ///   - folder: the working folder; `nil` for the current one.
  ///   - input: its standard input, of at most 64 kB.
  public static func start(
    _ executable: String, _ arguments: [String] = [], environment: [String: String] = [:], folder: URL? = nil,
    input: String = ""
  ) async throws -> ChildProcess {
    precondition(input.utf8.count <= 64 << 10, "more than a pipe holds (pipe(7)) would block the test")
    // With setpriv the kernel kills the program when this process dies for any reason. Every Debian and Ubuntu has it
    // (util-linux). With setpriv and env, the exit status is 127 if the program does not exist.
    var words = access("/usr/bin/setpriv", X_OK) == 0 ? ["setpriv", "--pdeathsig", "KILL"] : ["env"]
    if let folder { words = ["env", "-C", folder.path] + words }
    let child = try await Spawner.shared.start(words + [executable] + arguments, environment: environment)
    // A child that ended immediately or reads nothing must not end this process.
    signal(SIGPIPE, SIG_IGN)
    Array(input.utf8).withUnsafeBytes { _ = write(child.input, $0.baseAddress, $0.count) }
    close(child.input)
    return ChildProcess(child)
  }

  private init(_ child: Spawner.Child) {
    processIdentifier = child.processIdentifier
    lines = Self.lines(of: child.output)
    errorLines = Self.lines(of: child.errors)
    outcome = Outcome(of: child.processIdentifier)
  }

  deinit { send(signal: SIGKILL) }

  /// Runs a program to its end.
  public static func run(
    _ executable: String, _ arguments: [String] = [], environment: [String: String] = [:], folder: URL? = nil,
    input: String = ""
  ) async throws -> Output {
    let child = try await start(executable, arguments, environment: environment, folder: folder, input: input)
    async let output = child.lines.reduce(into: "") { $0 += $1 + "\n" }
    async let errors = child.errorLines.reduce(into: "") { $0 += $1 + "\n" }
    return Output(exit: await child.waitForExit(), standardOutput: await output, standardError: await errors)
  }

  /// Waits until the program has ended.
  ///
  /// - Parameter limit: after this duration, or after the time limit of the test, the program gets SIGKILL, so that the
  ///   test fails and the other tests can end. `nil` for a program that runs until others end it.
  @discardableResult
  public func waitForExit(within limit: Duration? = .seconds(1200)) async -> Exit {
    guard let limit else { return await outcome.wait() }
    return await kill(after: limit) { await outcome.wait() }
  }

  /// How the program ended; `nil` while it runs.
  public var exit: Exit? { outcome.current }

  /// Sends a signal if the program still runs.
  public func send(signal: Int32) { outcome.send(signal) }

  /// Sends SIGTERM and waits until the program has ended.
  public func terminate() async -> Exit {
    send(signal: SIGTERM)
    return await waitForExit()
  }

  /// Waits for a line of standard output that contains `text`. Other lines are dropped.
  ///
  /// - Returns: the line, or `nil` if the program ended without it. After 20 minutes, the program gets SIGKILL.
  public func line(containing text: String) async -> String? {
    await kill(after: .seconds(1200)) { await lines.first { $0.contains(text) } }
  }

  /// Waits for a line of standard error, as ``line(containing:)`` does for standard output.
  public func errorLine(containing text: String) async -> String? {
    await kill(after: .seconds(1200)) { await errorLines.first { $0.contains(text) } }
  }

  /// Performs a wait that ends at the latest with the program. Kills the program if the wait lasts longer than `limit`.
  private func kill<Value: Sendable>(after limit: Duration, _ wait: () async -> Value) async -> Value {
    let outcome = outcome
    let timer = DispatchSource.makeTimerSource(queue: .global())
    timer.setEventHandler { outcome.send(SIGKILL) }
    timer.schedule(deadline: .now() + .seconds(Int(limit.components.seconds)))
    timer.activate()
    defer { timer.cancel() }
    return await withTaskCancellationHandler(operation: wait, onCancel: { outcome.send(SIGKILL) })
  }

  /// Reads a descriptor to its end and closes it.
  private static func lines(of descriptor: Int32) -> AsyncStream<String> {
    let (stream, continuation) = AsyncStream.makeStream(of: String.self)
    let thread = Thread {
      var splitter = LineSplitter()
      var buffer = [UInt8](repeating: 0, count: 16 << 10)
      while true {
        let count = read(descriptor, &buffer, buffer.count)
        if count < 0, errno == EINTR { continue }
        guard count > 0 else { break }
        for line in splitter.feed(buffer[..<count]) { continuation.yield(line) }
      }
      if let last = splitter.finish() { continuation.yield(last) }
      continuation.finish()
      close(descriptor)
    }
    thread.start()
    return stream
  }
}

/// The exit of a process, and the tasks that wait for it.
private final class Outcome: Sendable {
  private struct State {
    var exit: ChildProcess.Exit?
    var waiters: [CheckedContinuation<ChildProcess.Exit, Never>] = []
  }

  private let child: pid_t
  private let state = Mutex(State())

  init(of child: pid_t) {
    self.child = child
    let thread = Thread { self.watch() }
    thread.start()
  }

  var current: ChildProcess.Exit? { state.withLock { $0.exit } }

  /// Sends a signal under the lock. The id can't belong to another process yet, because it is free only after
  /// ``watch()`` has collected the child.
  func send(_ signal: Int32) {
    state.withLock { if $0.exit == nil { kill(child, signal) } }
  }

  func wait() async -> ChildProcess.Exit {
    await withCheckedContinuation { continuation in
      let exit = state.withLock { state in
        if state.exit == nil { state.waiters.append(continuation) }
        return state.exit
      }
      if let exit { continuation.resume(returning: exit) }
    }
  }

  private func watch() {
    var information = siginfo_t()
    // Leaves the child uncollected (waitid(2), WNOWAIT), so that one step can record its end and free its id.
    while waitid(P_PID, id_t(child), &information, WEXITED | WNOWAIT) != 0, errno == EINTR {}
    let (exit, waiters) = state.withLock { state in
      var status: Int32 = 0
      while waitpid(child, &status, 0) < 0, errno == EINTR {}
      // The macros of wait(2) are not imported. The low seven bits are the signal, the next byte is the status.
      let exit: ChildProcess.Exit = status & 0x7F == 0 ? .status((status >> 8) & 0xFF) : .signal(status & 0x7F)
      state.exit = exit
      defer { state.waiters = [] }
      return (exit, state.waiters)
    }
    for waiter in waiters { waiter.resume(returning: exit) }
  }
}
