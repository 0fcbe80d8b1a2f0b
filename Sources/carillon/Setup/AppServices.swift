import CommandSupport
import PushCore
import ServiceTools

extension CarillonConfiguration {
  /// The push services of each app.
  var appServices: [String: [any PushService]] { apps.mapValues { $0.services.map(\.settings.service) } }

  /// Returns the apps for the checks of jobs, each with its push services.
  func jobApps() -> JobApps { .known(appServices) }
}
