@testable import APNs
@testable import PushTransport

/// Where engines differ: in what they know for certain. Everything else is alike.
extension PushEngineKind {
  /// Connections that APNs ends for the wrong environment until the certificate is stopped: only a reader of GOAWAY
  /// frames finds the reason in the first.
  var connectionsTurnedAway: Int {
    switch self {
    case .curl: ClientCertificate.turnedAwayLimit
    case .native: 1
    }
  }
}
