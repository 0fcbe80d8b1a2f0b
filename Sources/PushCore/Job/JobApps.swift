/// The apps that a job may name.
public enum JobApps: Sendable {
  /// These, each with its service.
  case known([String: any PushService])
  /// Any: there is no configuration. All are taken to be of this service, and what depends on the app is left unchecked.
  case any(any PushService)

  /// The service of an app; `nil` when there is no such app.
  func service(of app: String) -> (any PushService)? {
    switch self {
    case .known(let apps): apps[app]
    case .any(let service): service
    }
  }

  /// The names of the apps, where they are known.
  var names: [String] {
    switch self {
    case .known(let apps): Array(apps.keys)
    case .any: []
    }
  }
}
