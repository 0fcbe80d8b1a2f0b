import CommandSupport
import PushCore
import ServiceTools

extension CarillonConfiguration {
  /// Returns the apps for the checks of jobs, each with its push service.
  func jobApps() -> JobApps { .known(apps.mapValues { $0.service.settings.service }) }
}
