public import Foundation
import Synchronization
public import TestSupport

/// A worker of a ``FaultWorld``: the built program in a process of its own, with a log.
public final class WorkerProcess: Sendable {
  /// The worker's name. Another worker may have the same name.
  public let name: String
  /// Limit of targets that the worker may leave in doubt when it dies.
  public let window: Int
  /// The process, for signals.
  public let process: ChildProcess
  /// Its log: one JSON object per line.
  public let log: URL

  private struct LogCounts {
    /// Number of log lines by event.
    var events: [String: Int] = [:]
    var last: [String] = []
    var hasEnded = false
  }

  private let counts = Mutex(LogCounts())

  /// Completes after the process has exited and, if SIGKILL ended it, after `killed` has returned.
  private let ending: Task<ChildProcess.Exit, Never>

  /// - Parameter killed: called immediately after a death by SIGKILL.
  init(
    name: String, window: Int, process: ChildProcess, log: URL, killed: @escaping @Sendable () async -> Void
  ) throws {
    ending = Task {
      let exit = await process.waitForExit(within: nil)
      if exit == .signal(SIGKILL) { await killed() }
      return exit
    }
    self.name = name
    self.window = window
    self.process = process
    self.log = log
    _ = FileManager.default.createFile(atPath: log.path, contents: nil)
    let file = try FileHandle(forWritingTo: log)
    let lines = process.errorLines
    Task { [weak self] in
      for await line in lines {
        try? file.write(contentsOf: Data((line + "\n").utf8))
        self?.count(line)
      }
      try? file.close()
      self?.counts.withLock { $0.hasEnded = true }
    }
  }

  private func count(_ line: String) {
    let event = (try? JSONObject(line))?.text("event") ?? ""
    counts.withLock {
      $0.events[event, default: 0] += 1
      $0.last = $0.last.suffix(4) + [line]
    }
  }

  /// Returns how often the worker has logged an event.
  public func count(of event: String) -> Int { counts.withLock { $0.events[event] ?? 0 } }

  /// The last lines of its log.
  public var lastWords: String { counts.withLock { $0.last.joined(separator: "\n") } }

  /// Waits for an event in its log.
  public func hears(_ event: String, within limit: Duration = .seconds(60)) async throws {
    try await until("worker \(name) logs \(event)", within: limit, every: .milliseconds(10)) {
      if count(of: event) > 0 { return true }
      if counts.withLock({ $0.hasEnded }), let exit = process.exit {
        throw ImpossibleCondition("worker \(name) ended with \(exit): \(lastWords)")
      }
      return false
    }
  }

  /// Waits for its end for any reason, and for its last log lines.
  @discardableResult
  public func ended() async -> ChildProcess.Exit {
    let exit = await ending.value
    // The wait for the end of the log has a limit, because another process may have inherited the pipe and keep it
    // open.
    try? await poll(until: "the log ends", within: .seconds(5)) { counts.withLock { $0.hasEnded } }
    return exit
  }

  /// Sends SIGTERM and waits for its end.
  ///
  /// - Returns: how it ended. A healthy worker ends with status 0.
  public func terminate() async -> ChildProcess.Exit {
    process.send(signal: SIGTERM)
    return await ended()
  }
}

extension WorkerProcess {
  /// Returns the time of the first line of its log, on its own clock.
  func firstTime() throws -> Date {
    let line = try String(contentsOf: log, encoding: .utf8).split(separator: "\n").first.map(String.init) ?? ""
    let style = Date.ISO8601FormatStyle(includingFractionalSeconds: true)
    guard let text = try JSONObject(line).text("at") else { throw TestSupportError("no time in \(line)") }
    return try Date(text, strategy: style)
  }
}
