/// Every key there is, by section: what the reader knows and what environment variables can set. `*` is an app's name.
enum ConfigurationSchema {
  static let sections: [String: [String]] = [
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
    "apps.*": [
      "service", "topic", "environment", "token", "certificate", "endpoint", "broadcastEndpoint", "channelEndpoint",
      "port", "trustRoots", "proxy", "lastDeviceOnly", "rate", "caps", "approval", "control", "backend",
    ],
    "apps.*.approval": ["above"],
    "apps.*.backend": ["healthURL", "slowAfter", "timeout", "every", "rate", "leastShare", "trustRoots"],
    "apps.*.caps[]": ["category", "most", "per"],
    "apps.*.token": ["keyFile", "keyID", "teamID"],
    "apps.*.certificate": ["file", "passphraseFile"],
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

  /// The paths of all keys that hold a value, with these names in the place of `*`.
  static func paths(apps: some Sequence<String>, webhooks: [String] = []) -> [[String]] {
    let apps = Array(apps)
    var paths: [[String]] = []
    // What stands in lists a variable can't set.
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
