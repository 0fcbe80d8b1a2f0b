package import ArgumentParser
import Foundation
package import Logging

/// The options that every command has.
package struct GlobalOptions: ParsableArguments {
  @Option(
    help: ArgumentHelp("The configuration file.", valueName: "file"),
    completion: .file(extensions: ["yaml", "yml"]))
  package var config: String?

  @Flag(help: "Print JSON, and errors as JSON.")
  package var json = false

  @Option(
    help: ArgumentHelp("How much is logged to standard error; what log.level says unless given.", valueName: "level"))
  package var logLevel: Logger.Level?

  package init() {}

  /// The configuration that these options and the environment lead to.
  package func loadConfiguration() throws -> CarillonConfiguration {
    let logger = Logger(label: "configuration")
    let loader = ConfigurationLoader(argument: config, environment: ProcessInfo.processInfo.environment)
    logger.debug("reading the configuration", metadata: ["file": "\(loader.file)"])
    let configuration = try loader.load { logger.warning("\($0)") }
    LogSettings.shared.use(configuration.log)
    return configuration
  }

  /// What reads the configuration, again and again.
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
/// Its signals are handled from the first statement of the program on, and its log never waits for a reader.
package protocol LongRunningCommand: CarillonCommand {
  /// The signals that it handles; the others take their default action.
  static var signals: [Int32] { get }
}

/// Moves global options from before the command to behind it, where its parser looks for them:
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
