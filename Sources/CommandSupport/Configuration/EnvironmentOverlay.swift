import PushCore
import ServiceTools
import TextInput

/// Environment variables that set keys of the configuration: `CARILLON_REDIS_URL` is `redis.url`,
/// `CARILLON_APPS_NEWS_APNS_TOKEN_KEY_FILE` is `apps.news.apns.token.keyFile`.
package enum EnvironmentOverlay {
  static let prefix = "CARILLON_"
  /// The variable with the path of the configuration file. It is not a key of the file.
  package static let fileVariable = "CARILLON_CONFIG"
  /// Prefix of variables that tests pass to their commands.
  private static let testPrefix = "CARILLON_TEST_"
  /// Prefix of the switches for injected faults, see ``FaultEnvironment``. They are not keys of the configuration.
  private static let faultPrefix = "CARILLON_FAULT_"

  /// Returns the file that the environment names; `nil` for none. A line break at the end of the variable is ignored.
  package static func file(_ environment: [String: String]) -> String? {
    environment[fileVariable].map(LineBreak.dropped(fromEndOf:)).flatMap { $0.isEmpty ? nil : $0 }
  }

  /// Sets the keys that environment variables override. A line break at the end of a variable is ignored. An empty
  /// variable counts as missing, because compose files can't omit a variable.
  ///
  /// - Returns: the variables that were ignored because Kubernetes creates them for every service. They must be
  ///   ignored: if a service is named `carillon`, they look like variables of Carillon, and no worker would start.
  @discardableResult
  static func apply(
    _ environment: [String: String], to root: inout ConfigurationNode
  ) throws(ConfigurationError) -> [String] {
    let given = environment.mapValues(LineBreak.dropped(fromEndOf:)).filter { name, value in
      name.hasPrefix(prefix) && !name.hasPrefix(testPrefix) && !name.hasPrefix(faultPrefix)
        && name != fileVariable && !value.isEmpty
    }
    guard !given.isEmpty else { return [] }
    func names(_ section: String) -> [String] {
      guard case .section(let sections) = root.content, case .section(let named)? = sections[section]?.content else {
        return []
      }
      return Array(named.keys)
    }
    let apps = names("apps")
    var paths: [String: [[String]]] = [:]
    for path in ConfigurationSchema(.all).paths(apps: apps, webhooks: names("webhooks")) {
      paths[variable(of: path), default: []].append(path)
    }
    var ignored: [String] = []
    for (name, value) in given.sorted(by: { $0.key < $1.key }) {
      guard let meant = paths[name] else {
        if KubernetesVariable.matches(name, value) {
          ignored.append(name)
          continue
        }
        throw ConfigurationError(
          key: "", message: "unknown environment variable \(Excerpt.quoted(name))", origin: nil,
          hint: hint(name, known: paths.keys, apps: apps))
      }
      guard meant.count == 1 else {
        let keys = meant.map { $0.joined(separator: ".") }.sorted().joined(separator: " and ")
        throw ConfigurationError(
          key: "", message: "environment variable \(name) can mean \(keys)", origin: nil,
          hint: "set it in the configuration file")
      }
      root.set(meant[0][...], to: value, origin: "environment variable \(name)")
    }
    return ignored
  }

  /// Returns the variable that sets a key: camel case becomes upper case with underscores. Characters other than
  /// letters and digits also become underscores.
  static func variable(of path: [String]) -> String {
    prefix + path.map(upperCased).joined(separator: "_")
  }

  private static func upperCased(_ key: String) -> String {
    var result = ""
    var previousIsLower = false
    for character in key {
      // `keyID` becomes KEY_ID, because an acronym is one word.
      if character.isUppercase, previousIsLower { result += "_" }
      previousIsLower = character.isLowercase || character.isNumber
      result += character.isLetter || character.isNumber ? character.uppercased() : "_"
    }
    return result
  }

  private static func hint(_ name: String, known: some Collection<String>, apps: [String]) -> String {
    let appPrefixes = apps.map { variable(of: ["apps", $0]) + "_" }
    if name.hasPrefix(prefix + "APPS_"), !appPrefixes.contains(where: name.hasPrefix) {
      return "a variable can set keys only of apps in the configuration file: "
        + (apps.isEmpty ? "the file has no apps" : apps.sorted().joined(separator: ", "))
    }
    if let match = Nearest.match(name, among: Array(known) + [fileVariable]) { return "did you mean \(match)?" }
    return "variables are named after keys: CARILLON_REDIS_URL is redis.url"
  }
}
