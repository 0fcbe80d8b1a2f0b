import Logging
import Synchronization

/// What a line of a worker's log is about: each has a level of its own where one wants it. Raw values are names in the
/// configuration, and in every line.
package enum LogModule: String, CaseIterable {
  /// Its start and its end, and what goes wrong and is tried again.
  case worker
  /// Jobs and events on their way in, and those that go to the dead list.
  case intake
  /// What becomes of campaigns.
  case campaigns
  /// What becomes of slices.
  case slices
  /// Takeovers, housekeeping.
  case fleet
  /// Connections to push services.
  case connections
  /// Redis: connections, failovers, what is damaged there.
  case redis
  /// Keys and certificates.
  case credentials
  /// What the configuration says, and its changes.
  case configuration
  /// Webhooks.
  case webhooks
}

/// How log lines are written, and which: for the whole process, and changeable while it runs.
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

  /// What the command line says; it prevails over the configuration.
  private let arguments = Mutex<(isJSON: Bool, level: Logger.Level?)>((false, nil))

  /// Takes what the command line says.
  ///
  /// - Parameter level: of everything; `nil` leaves it to the configuration.
  func use(isJSON: Bool, level: Logger.Level?) {
    arguments.withLock { $0 = (isJSON, level) }
    use(CarillonConfiguration.Log())
  }

  /// Takes what a configuration says, from now on.
  package func use(_ log: CarillonConfiguration.Log) {
    let (isJSON, level) = arguments.withLock { $0 }
    state.withLock {
      $0.isJSON = isJSON || log.isJSON
      $0.level = level ?? log.level
      $0.modules = level == nil ? log.modules : [:]
    }
  }

  /// The least grave level that is written of a module.
  func level(of module: String) -> Logger.Level { state.withLock { $0.modules[module] ?? $0.level } }

  var isJSON: Bool { state.withLock { $0.isJSON } }

  var scrubber: TokenScrubber { state.withLock { $0.scrubber } }
}
