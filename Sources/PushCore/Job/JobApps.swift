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

  /// Names of the apps; empty if they are unknown.
  var names: [String] {
    switch self {
    case .known(let apps): Array(apps.keys)
    case .any: []
    }
  }
}
