import Foundation
package import ServiceTools

/// Finds the configuration file, applies the environment variables and reads the result.
package struct ConfigurationLoader {
  /// The file that is read if neither an option nor a variable names one.
  package static let defaultFile = "Config/carillon.yaml"

  /// Maximum size of the file in bytes. A configuration of a hundred apps has about 20 kB.
  static let maximumSize = 1 << 20

  /// The value of `--config`.
  var argument: String?
  var environment: [String: String]

  package init(argument: String?, environment: [String: String]) {
    self.argument = argument
    self.environment = environment
  }

  /// The file that the option or the environment variable names; `nil` for none.
  private var named: String? {
    argument ?? EnvironmentOverlay.file(environment)
  }

  /// The file that is read.
  package var file: String { named ?? Self.defaultFile }

  /// Returns the configuration.
  ///
  /// - Parameter warn: receives problems that do not prevent the start.
  package func load(warn: (String) -> Void = { _ in }) throws(ConfigurationError) -> CarillonConfiguration {
    if named == nil, !FileManager.default.fileExists(atPath: file) {
      throw ConfigurationError(
        key: "", message: "no configuration: the working directory has no \(Self.defaultFile)", origin: nil,
        hint: "choose a file with --config FILE or \(EnvironmentOverlay.fileVariable)")
    }
    var root = try ConfigurationNode.parse(yaml: try read(file), file: file)
    for name in try EnvironmentOverlay.apply(environment, to: &root) {
      warn("ignored environment variable \(name): it is not a key; Kubernetes creates such variables for services")
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
        hint: "check the file, or choose another with --config FILE or \(EnvironmentOverlay.fileVariable)")
    }
  }
}
