import ServiceTools

/// Every key, by section: the reader knows them and environment variables can set them. `*` is the name of an app.
struct ConfigurationSchema {
  private let sections: [String: [String]]

  /// - Parameter services: have keys of their own in the section of an app.
  init(_ services: KnownServices) {
    var sections = Self.common
    for tools in services.tools {
      for (section, keys) in tools.keys {
        let name = section.isEmpty ? Self.app : "\(Self.app).\(section)"
        sections[name, default: []] += keys.filter { !sections[name, default: []].contains($0) }
      }
    }
    self.sections = sections
  }

  /// The keys of a section.
  subscript(section: String) -> [String] { sections[section] ?? [] }

  /// The keys of an app that uses this service.
  static func keys(ofApp tools: any PushServiceTools) -> [String] {
    (tools.keys[""] ?? []) + (common[app] ?? [])
  }

  private static let app = "apps.*"

  /// The keys of no service.
  private static let common: [String: [String]] = [
    "": ["redis", "apps", "worker", "retry", "guard", "log", "webhooks", "admin"],
    "redis": [
      "url", "user", "passwordFile", "tls", "sentinel", "cluster", "namespace", "partitions", "feedbackLength",
      "devicesPerUser",
      "streamLength",
    ],
    "redis.tls": ["trustRoots", "certificate", "key", "serverName"],
    "redis.sentinel": ["user", "passwordFile", "tls"],
    "redis.cluster": ["addresses"],
    "redis.sentinel.tls": ["trustRoots", "certificate", "key", "serverName"],
    app: [
      "service", "trustRoots", "proxy", "lastDeviceOnly", "rate", "caps", "approval", "control", "backend",
    ],
    "apps.*.approval": ["above"],
    "apps.*.backend": ["healthURL", "slowAfter", "timeout", "every", "rate", "leastShare", "trustRoots"],
    "apps.*.caps[]": ["category", "most", "per"],
    "apps.*.proxy": ["url", "credentialsFile"],
    "worker": ["engine", "connections", "window", "answerTimeout", "deadline", "zoneinfo"],
    "retry": ["firstServerError", "serverError", "tooManyRequests", "attempts", "longest", "jitter"],
    "guard": ["threshold", "pruneShare", "minimum"],
    "admin": ["listen", "tokenFile", "tls"],
    "admin.tls": ["certificate", "key"],
    "webhooks.*": ["url", "secretFile", "events", "allowPrivate", "trustRoots"],
    "log": ["format", "level", "modules"],
    "log.modules": LogModule.allCases.map(\.rawValue),
  ]

  /// Returns the paths of all keys with a value, with these names instead of `*`.
  func paths(apps: some Sequence<String>, webhooks: [String] = []) -> [[String]] {
    let apps = Array(apps)
    var paths: [[String]] = []
    // A variable can't set a value in a list.
    for (section, keys) in sections where !section.isEmpty && !section.hasSuffix("[]") {
      let parts = section.split(separator: ".").map(String.init)
      for key in keys where sections[section + "." + key] == nil {
        if parts.contains("*") {
          paths += (parts[0] == "webhooks" ? webhooks : apps).map { app in parts.map { $0 == "*" ? app : $0 } + [key] }
        } else {
          paths.append(parts + [key])
        }
      }
    }
    return paths
  }
}
