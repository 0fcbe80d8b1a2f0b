import PushCore
import ServiceTools

/// All valid keys of the configuration, by section. In the name of a section, `*` is the name of an app or
/// webhook.
struct ConfigurationSchema {
  private let sections: [String: [String]]

  /// - Parameter services: the push services. Each has a section in the section of an app.
  init(_ services: KnownServices) {
    var sections = Self.common
    sections[Self.app, default: []] += services.names
    for tools in services.tools {
      let service = "\(Self.app).\(tools.service.name)"
      sections[service] = Self.ofService
      sections["\(service).proxy"] = Self.proxy
      for (section, keys) in tools.keys {
        let name = section.isEmpty ? service : "\(service).\(section)"
        sections[name, default: []] += keys.filter { !sections[name, default: []].contains($0) }
      }
    }
    self.sections = sections
  }

  /// The keys of a section.
  subscript(section: String) -> [String] { sections[section] ?? [] }

  private static let app = "apps.*"

  /// The keys that the sections of all push services share.
  private static let ofService = ["trustRoots", "proxy", "rate", "connections"]

  /// The keys of a proxy.
  static let proxy = ["url", "credentialsFile"]

  /// The keys that do not depend on the push services.
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
    app: ["lastDeviceOnly", "caps", "approval", "control", "backend"],
    "apps.*.approval": ["above"],
    "apps.*.backend": ["healthURL", "slowAfter", "timeout", "every", "rate", "leastShare", "trustRoots"],
    "apps.*.caps[]": ["category", "most", "per"],
    "worker": ["engine", "connections", "window", "answerTimeout", "deadline", "zoneinfo"],
    "retry": ["firstServerError", "serverError", "tooManyRequests", "attempts", "longest", "jitter"],
    "guard": ["threshold", "pruneShare", "minimum"],
    "admin": ["listen", "tokenFile", "tls"],
    "admin.tls": ["certificate", "key"],
    "webhooks.*": ["url", "secretFile", "events", "allowPrivate", "trustRoots"],
    "log": ["format", "level", "modules"],
    "log.modules": LogModule.allCases.map(\.rawValue),
  ]

  /// Returns the paths of all keys that an environment variable can set, with these names instead of `*`.
  func paths(apps: some Sequence<String>, webhooks: [String] = []) -> [[String]] {
    let apps = Array(apps)
    var paths: [[String]] = []
    // Environment variables can't set values in a list.
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
