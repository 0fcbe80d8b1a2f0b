public import Foundation
import Synchronization
public import TestSupport

/// A worker of a ``FaultWorld``: the built program in a process of its own, its log kept.
public final class WorkerProcess: Sendable {
  /// As it calls itself; another may have the same name.
  public let name: String
  /// How many targets it may leave in doubt when it dies.
  public let window: Int
  /// The process; to be signalled.
  public let process: ChildProcess
  /// Its log: one JSON object a line.
  public let log: URL

  private struct Heard {
    /// Log lines by what they tell of.
    var events: [String: Int] = [:]
    var last: [String] = []
    var hasEnded = false
  }

  private let heard = Mutex(Heard())

  /// Ends when what is to be known at once of its end is known.
  private let ending: Task<ChildProcess.Exit, Never>

  /// - Parameter mourn: called as soon as it has died of SIGKILL.
  init(
    name: String, window: Int, process: ChildProcess, log: URL, mourn: @escaping @Sendable () async -> Void
  ) throws {
    ending = Task {
      let exit = await process.waitForExit()
      if exit == .signal(SIGKILL) { await mourn() }
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
        self?.hear(line)
      }
      try? file.close()
      self?.heard.withLock { $0.hasEnded = true }
    }
  }

  private func hear(_ line: String) {
    let event = (try? JSONObject(line))?.text("event") ?? ""
    heard.withLock {
      $0.events[event, default: 0] += 1
      $0.last = $0.last.suffix(4) + [line]
    }
  }

  /// How often it has logged an event.
  public func count(of event: String) -> Int { heard.withLock { $0.events[event] ?? 0 } }

  /// The last lines of its log.
  public var lastWords: String { heard.withLock { $0.last.joined(separator: "\n") } }

  /// Waits for an event of its log.
  public func hears(_ event: String, within limit: Duration = .seconds(60)) async throws {
    try await until("worker \(name) logs \(event)", within: limit, every: .milliseconds(10)) {
      if count(of: event) > 0 { return true }
      if heard.withLock({ $0.hasEnded }), let exit = process.exit {
        throw Hopeless("worker \(name) ended with \(exit): \(lastWords)")
      }
      return false
    }
  }

  /// Waits for its end, whatever the cause, and for what it said last.
  @discardableResult
  public func ended() async -> ChildProcess.Exit {
    let exit = await ending.value
    // Another process may have inherited the pipe and keep it open, so the end of the log is not waited for any longer.
    let deadline = ContinuousClock.now + .seconds(5)
    while !heard.withLock({ $0.hasEnded }), ContinuousClock.now < deadline { await nextLook() }
    return exit
  }

  /// Sends SIGTERM and waits for its end.
  ///
  /// - Returns: how it ended; a sound worker ends with status 0.
  public func terminate() async -> ChildProcess.Exit {
    process.send(signal: SIGTERM)
    return await ended()
  }
}

extension WorkerProcess {
  /// When it wrote the first line of its log, by its own clock.
  func firstTime() throws -> Date {
    let line = try String(contentsOf: log, encoding: .utf8).split(separator: "\n").first.map(String.init) ?? ""
    let style = Date.ISO8601FormatStyle(includingFractionalSeconds: true)
    guard let text = try JSONObject(line).text("at") else { throw TestSupportError("no time in \(line)") }
    return try Date(text, strategy: style)
  }
}
