/// Apps that a job may name.
public enum JobApps: Sendable {
  /// These apps, each with its service.
  case known([String: any PushService])
  /// Any app, for use without a configuration. All apps use this service, and rules that depend on the app are not
  /// checked.
  case any(any PushService)

  /// Returns the service of an app; `nil` if the app is unknown.
  func service(of app: String) -> (any PushService)? {
    switch self {
    case .known(let apps): apps[app]
    case .any(let service): service
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
