package import ArgumentParser
import Foundation
package import Logging

/// The options of every command.
package struct GlobalOptions: ParsableArguments {
  @Option(
    help: ArgumentHelp("The configuration file.", valueName: "file"),
    completion: .file(extensions: ["yaml", "yml"]))
  package var config: String?

  @Flag(help: "Print output and errors as JSON.")
  package var json = false

  @Option(
    help: ArgumentHelp("The lowest level that is logged to standard error (default: log.level).", valueName: "level"))
  package var logLevel: Logger.Level?

  package init() {}

  /// Loads the configuration that these options and the environment select.
  package func loadConfiguration() throws -> CarillonConfiguration {
    let logger = Logger(label: "configuration")
    let loader = ConfigurationLoader(argument: config, environment: ProcessInfo.processInfo.environment)
    logger.debug("reading the configuration", metadata: ["file": "\(loader.file)"])
    let configuration = try loader.load { logger.warning("\($0)") }
    LogSettings.shared.use(configuration.log)
    return configuration
  }

  /// Loader with which the program can read the configuration again, for example after a change of its file.
  package var configurationLoader: ConfigurationLoader {
    ConfigurationLoader(argument: config, environment: ProcessInfo.processInfo.environment)
  }
}

/// A command with the global options.
package protocol CarillonCommand: AsyncParsableCommand {
  var global: GlobalOptions { get }
}

/// A command that runs until a signal stops it.
///
/// The program handles the command's signals from its first statement on, and its log never waits for a reader.
package protocol LongRunningCommand: CarillonCommand {
  /// The signals that the command handles. Other signals have their default action.
  static var signals: [Int32] { get }
}

extension LongRunningCommand {
  /// Ends the process with an error if it still runs some time after the first signal to stop, see
  /// ``ProcessSignals/limitStop(to:_:)``.
  package func limitStop(to seconds: Int, _ message: String, hint: String) {
    ProcessSignals.limitStop(to: seconds) { [isJSON = global.json] in
      CommandRunner.end(CommandError(.defect, message, hint: hint), json: isJSON)
    }
  }
}

/// Moves global options from before the command to after it, where ArgumentParser expects them:
/// `carillon --config FILE campaign list` is `carillon campaign list --config FILE`.
enum GlobalArguments {
  static func moved(_ arguments: [String]) -> [String] {
    var leading: [String] = []
    var rest = arguments[...]
    while let first = rest.first {
      if first == "--json" || first.hasPrefix("--config=") || first.hasPrefix("--log-level=") {
        leading.append(first)
        rest = rest.dropFirst()
      } else if first == "--config" || first == "--log-level", rest.count > 1 {
        leading += rest.prefix(2)
        rest = rest.dropFirst(2)
      } else {
        break
      }
    }
    guard !leading.isEmpty, !rest.isEmpty else { return arguments }
    let end = rest.firstIndex(of: "--") ?? rest.endIndex
    return Array(rest[..<end]) + leading + Array(rest[end...])
  }
}
