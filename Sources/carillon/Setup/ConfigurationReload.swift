import CommandSupport
import Foundation
import Glibc
import Logging
import PushCore
import TLS

/// Reads the configuration again on SIGHUP and when its file changes. What can't be used is told of, and what was read before
/// stays in use.
actor ConfigurationReload {
  /// Something worth a line in the log.
  enum Notice: Equatable {
    /// Somebody asked, and it is as it was.
    case unchanged
    /// It can't be used.
    case invalid(message: String, hint: String?)
    /// It is taken up, but for what needs a restart.
    case changed(ConfigurationChange)
    /// What has changed is in use.
    case applied
  }

  /// Between two looks at the file: one that is being written is read when two looks see the same.
  private static let interval = Duration.seconds(2)

  /// What is in use.
  private(set) var current: CarillonConfiguration
  private let load: @Sendable () throws -> CarillonConfiguration
  private let file: String
  private let tell: @Sendable (Notice) -> Void
  private var readStamp: FileStamp?
  private var seenStamp: FileStamp?

  /// - Parameters:
  ///   - configuration: as it was read.
  ///   - loader: what reads it.
  ///   - tell: gets what is worth a line in the log.
  init(
    _ configuration: CarillonConfiguration, loader: ConfigurationLoader, tell: @escaping @Sendable (Notice) -> Void
  ) {
    current = configuration
    file = loader.file
    // Its odd things were warned of when it was read first.
    load = { try loader.load() }
    self.tell = tell
    readStamp = FileStamp(of: loader.file)
    seenStamp = readStamp
  }

  /// Watches, until the task is cancelled.
  ///
  /// - Parameter apply: Called with each change, when ``current`` has it.
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
      if isAsked || hasChanged(), let change = look(isAsked: isAsked) { await apply(change) }
    }
  }

  /// Whether the file is another than was read, and the same as at the look before.
  private func hasChanged() -> Bool {
    let stamp = FileStamp(of: file)
    defer { seenStamp = stamp }
    return stamp != readStamp && stamp == seenStamp
  }

  /// Reads it once.
  ///
  /// - Parameter isAsked: whether somebody wants to know also that nothing has changed.
  /// - Returns: what has changed; `nil` for nothing, and where it can't be used.
  func look(isAsked: Bool) -> ConfigurationChange? {
    readStamp = FileStamp(of: file)
    do {
      var new = try load()
      // What it names must be there, too: a worker that had to end for it would be no help.
      let channels = try AppChannels.make(new.apps)
      try EnvironmentProxy.check(
        channels, engine: new.worker.engine, environment: ProcessInfo.processInfo.environment)
      _ = try new.webhookTargets()
      let change = ConfigurationChange(from: current, to: new)
      guard !change.isEmpty else {
        if isAsked { tell(.unchanged) }
        return nil
      }
      new.redis = current.redis
      current = new
      LogSettings.shared.use(new.log)
      tell(.changed(change))
      return change
    } catch {
      let error = CommandError(error)
      tell(.invalid(message: error.message, hint: error.hint))
      return nil
    }
  }
}

extension ConfigurationReload.Notice {
  /// The line of the log.
  var line: (level: Logger.Level, event: String, text: String, more: Logger.Metadata) {
    switch self {
    case .unchanged: (.info, "configurationUnchanged", "read the configuration again: nothing has changed", [:])
    case .invalid(let message, let hint):
      (
        .error, "configurationKept", "\(message); what was read before stays in use",
        ["hint": "\(hint ?? "")"]
      )
    case .applied: (.info, "configurationApplied", "goes on with the new configuration", [:])
    case .changed(let change):
      (
        change.restart.isEmpty ? .info : .warning, "configurationReloaded",
        "read the configuration again"
          + (change.restart.isEmpty ? "" : "; what needs a restart stays as it was until then"),
        [
          "changed": "\(change.applied.joined(separator: ", "))",
          "restart": "\(change.restart.joined(separator: ", "))",
        ]
      )
    }
  }
}
