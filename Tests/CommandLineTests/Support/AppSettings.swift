import APNs
import ServiceTools

@testable import CommandSupport

extension CarillonConfiguration.App {
  /// The settings for APNs; `nil` for an app of another service.
  var apns: APNsSettings? { self["apns"]?.settings as? APNsSettings }
}
