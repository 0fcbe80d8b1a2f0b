import CommandSupport
import Foundation
import Glibc
import Logging
import PushCore
import TLS

/// Reads the configuration again on SIGHUP and when its file changes. If the new configuration is invalid, an error is
/// logged, and the previous configuration stays in use.
actor ConfigurationReload {
  /// A result of a reload that is logged.
  enum Notice: Equatable {
    /// A SIGHUP was received, but nothing has changed.
    case unchanged
    /// The configuration is invalid.
    case invalid(message: String, hint: String?)
    /// The changes are accepted, except those that need a restart.
    case changed(ConfigurationChange)
    /// The changes are in use.
    case applied
  }

  /// Polling interval of the file. A file that is being written is read only after two polls with the same result.
  private static let interval = Duration.seconds(2)

  /// The configuration in use.
  private(set) var current: CarillonConfiguration
  private let load: @Sendable () throws -> CarillonConfiguration
  private let file: String
  private let report: @Sendable (Notice) -> Void
  private var readStamp: FileStamp?
  private var seenStamp: FileStamp?

  /// - Parameters:
  ///   - configuration: the present configuration.
  ///   - loader: the loader of the file.
  ///   - report: receives the results that are logged.
  init(
    _ configuration: CarillonConfiguration, loader: ConfigurationLoader, report: @escaping @Sendable (Notice) -> Void
  ) {
    current = configuration
    file = loader.file
    // Warnings are not logged here, because the first read has already logged them.
    load = { try loader.load() }
    self.report = report
    readStamp = FileStamp(of: loader.file)
    seenStamp = readStamp
  }

  /// Watches the file and SIGHUP until the task is cancelled.
  ///
  /// - Parameter apply: called with each change after ``current`` is set.
  func run(apply: @escaping @Sendable (ConfigurationChange) async -> Void) async {
    let (requests, continuation) = AsyncStream.makeStream(of: Bool.self, bufferingPolicy: .bufferingNewest(4))
    let signals = ProcessSignals([SIGHUP])
    let asked = Task {
      for await _ in signals.numbers { continuation.yield(true) }
    }
    let clock = Task {
      while !Task.isCancelled {
        try? await Task.sleep(for: Self.interval)
        continuation.yield(false)
      }
      continuation.finish()
    }
    defer {
      clock.cancel()
      asked.cancel()
    }
    for await isAsked in requests {
      guard !Task.isCancelled else { return }
      if isAsked || hasChanged(), let change = check(isAsked: isAsked) { await apply(change) }
    }
  }

  /// Returns whether the file differs from its state at the last read, and has not changed since the previous poll.
  private func hasChanged() -> Bool {
    let stamp = FileStamp(of: file)
    defer { seenStamp = stamp }
    return stamp != readStamp && stamp == seenStamp
  }

  /// Reads the file once.
  ///
  /// - Parameter isAsked: whether an operator asked for the reload, so that an unchanged file is logged too.
  /// - Returns: the changes; `nil` if nothing has changed or the configuration is invalid.
  func check(isAsked: Bool) -> ConfigurationChange? {
    readStamp = FileStamp(of: file)
    do {
      var new = try load()
      // Also check the files that the configuration names. Otherwise, a missing file would end the new worker.
      let channels = try AppChannels.make(new.apps)
      try EnvironmentProxy.check(
        channels, engine: new.worker.engine, environment: ProcessInfo.processInfo.environment)
      _ = try new.webhookTargets()
      let change = ConfigurationChange(from: current, to: new)
      guard !change.isEmpty else {
        if isAsked { report(.unchanged) }
        return nil
      }
      new.redis = current.redis
      current = new
      LogSettings.shared.use(new.log)
      report(.changed(change))
      return change
    } catch {
      let error = CommandError(error)
      report(.invalid(message: error.message, hint: error.hint))
      return nil
    }
  }
}

extension ConfigurationReload.Notice {
  /// The log line.
  var line: (level: Logger.Level, event: String, text: String, more: Logger.Metadata) {
    switch self {
    case .unchanged: (.info, "configurationUnchanged", "reloaded the configuration: nothing has changed", [:])
    case .invalid(let message, let hint):
      (
        .error, "configurationKept", "\(message); the previous configuration stays in use",
        ["hint": "\(hint ?? "")"]
      )
    case .applied: (.info, "configurationApplied", "applied the new configuration", [:])
    case .changed(let change):
      (
        change.restart.isEmpty ? .info : .warning, "configurationReloaded",
        "reloaded the configuration"
          + (change.restart.isEmpty ? "" : "; some changes need a restart"),
        [
          "changed": "\(change.applied.joined(separator: ", "))",
          "restart": "\(change.restart.joined(separator: ", "))",
        ]
      )
    }
  }
}
