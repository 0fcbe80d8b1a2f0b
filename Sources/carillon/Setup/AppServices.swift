import CommandSupport
import PushCore
import ServiceTools

extension CarillonConfiguration {
  /// The apps that jobs are checked against, each with its push service.
  func jobApps() -> JobApps { .known(apps.mapValues { $0.service.settings.service }) }
}
