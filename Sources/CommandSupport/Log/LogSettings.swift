import Logging
import Synchronization

/// The module of a log line. Each module can have its own level. The raw values are names in the configuration and in
/// log lines.
package enum LogModule: String, CaseIterable {
  /// Start and end of the worker, and errors after which it tries again.
  case worker
  /// Intake of jobs and events, and moves to the dead list.
  case intake
  /// Changes of campaigns.
  case campaigns
  /// Changes of slices.
  case slices
  /// Takeovers and housekeeping.
  case fleet
  /// Connections to push services.
  case connections
  /// Redis: connections, failovers and damaged data.
  case redis
  /// Keys and certificates.
  case credentials
  /// The configuration and its changes.
  case configuration
  /// Webhooks.
  case webhooks
}

/// The format and levels of the log, for the whole process. They can change while the process runs.
package final class LogSettings: Sendable {
  package static let shared = LogSettings()

  private struct State {
    var isJSON = false
    var level = Logger.Level.info
    var modules: [String: Logger.Level] = [:]
    var scrubber = TokenScrubber(key: (0..<32).map { _ in .random(in: .min ... .max) })
  }

  private let state = Mutex(State())

  private init() {}

  /// The settings of the command line. They override the configuration.
  private let arguments = Mutex<(isJSON: Bool, level: Logger.Level?)>((false, nil))

  /// Applies the settings of the command line.
  ///
  /// - Parameter level: the lowest logged level of all modules; `nil` if the levels of the configuration apply.
  func use(isJSON: Bool, level: Logger.Level?) {
    arguments.withLock { $0 = (isJSON, level) }
    use(CarillonConfiguration.Log())
  }

  /// Applies the settings of a configuration.
  package func use(_ log: CarillonConfiguration.Log) {
    let (isJSON, level) = arguments.withLock { $0 }
    state.withLock {
      $0.isJSON = isJSON || log.isJSON
      $0.level = level ?? log.level
      $0.modules = level == nil ? log.modules : [:]
    }
  }

  /// Returns the lowest logged level of a module.
  func level(of module: String) -> Logger.Level { state.withLock { $0.modules[module] ?? $0.level } }

  var isJSON: Bool { state.withLock { $0.isJSON } }

  var scrubber: TokenScrubber { state.withLock { $0.scrubber } }
}
