/// Apps that a job may name, with their push services.
public enum JobApps: Sendable {
  /// These apps, each with its services.
  case known([String: [any PushService]])
  /// Any app, for use without a configuration. All apps use these services, and rules that depend on the app are not
  /// checked.
  case any([any PushService])

  /// Returns the services of an app; `nil` if the app is unknown.
  public func services(of app: String) -> [any PushService]? {
    switch self {
    case .known(let apps): apps[app]
    case .any(let services): services
    }
  }

  /// Names of the services of all apps, sorted.
  var serviceNames: [String] { allServices.map(\.name) }

  /// Services of all apps, each once, sorted by name.
  public var allServices: [any PushService] {
    let all: [any PushService] =
      switch self {
      case .known(let apps): apps.keys.sorted().flatMap { apps[$0] ?? [] }
      case .any(let services): services
      }
    var seen: Set<String> = []
    return all.filter { seen.insert($0.name).inserted }.sorted { $0.name < $1.name }
  }

  /// Names of the apps; empty if they are unknown.
  var names: [String] {
    switch self {
    case .known(let apps): Array(apps.keys)
    case .any: []
    }
  }
}
