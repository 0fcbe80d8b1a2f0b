import Foundation
package import ServiceTools

/// Finds the configuration file, lays the environment over it, and reads the whole.
package struct ConfigurationLoader {
  /// Where it is looked for when nothing names it.
  package static let defaultFile = "Config/carillon.yaml"

  /// A configuration of a hundred apps is some 20 kB; more is some other file.
  static let maximumSize = 1 << 20

  /// The value of `--config`.
  var argument: String?
  var environment: [String: String]

  package init(argument: String?, environment: [String: String]) {
    self.argument = argument
    self.environment = environment
  }

  /// The file that is named.
  private var named: String? {
    argument ?? EnvironmentOverlay.file(environment)
  }

  /// The file that is read.
  package var file: String { named ?? Self.defaultFile }

  /// The configuration.
  ///
  /// - Parameter warn: told of what is odd but does no harm.
  package func load(warn: (String) -> Void = { _ in }) throws(ConfigurationError) -> CarillonConfiguration {
    if named == nil, !FileManager.default.fileExists(atPath: file) {
      throw ConfigurationError(
        key: "", message: "no configuration: there is no \(Self.defaultFile) here", origin: nil,
        hint: "name one with --config FILE or \(EnvironmentOverlay.fileVariable)")
    }
    var root = try ConfigurationNode.parse(yaml: try read(file), file: file)
    for name in try EnvironmentOverlay.apply(environment, to: &root) {
      warn("ignored environment variable \(name): no key, but Kubernetes makes such names for its services")
    }
    let directory = file.lastIndex(of: "/").map { String(file[..<$0]) } ?? ""
    return try ConfigurationReader(directory: directory).read(root)
  }

  private func read(_ file: String) throws(ConfigurationError) -> String {
    do {
      return String(decoding: try InputFile.contents(file, limit: Self.maximumSize), as: UTF8.self)
    } catch {
      throw ConfigurationError(
        key: "", message: "can't read the configuration \(file): \(error.reason)", origin: nil,
        hint: "name another with --config FILE or \(EnvironmentOverlay.fileVariable)")
    }
  }
}
