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

  /// Whether an engine may come to this for a push that the native engine finds to be `expected`.
  /// libcurl never knows more than the native engine, and sometimes less.
  func mayCall(_ expected: Misbehaviour.Outcome, _ found: Misbehaviour.Outcome, of row: Misbehaviour) -> Bool {
    guard self == .curl, found == .inDoubt else { return found == expected }
    switch expected {
    case .inDoubt: return true
    // It sends the first push before SETTINGS have come, and does not tell a refusal from other errors.
    case .notSent: return !row.isBeforeAnything
    case .accepted: return row.isBlurred
    case .refused: return false
    }
  }
}
