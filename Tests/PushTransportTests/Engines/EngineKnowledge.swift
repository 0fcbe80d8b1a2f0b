import TestSupport

@testable import APNs
@testable import PushTransport

/// Differences between the engines in the certainty of their results. Everything else is the same.
extension PushEngineKind {
  /// The number of connections that APNs ends because of the wrong environment before the certificate is stopped. Only
  /// an engine that reads GOAWAY frames finds the reason in the first.
  var connectionsTurnedAway: Int {
    switch self {
    case .curl: ClientCertificate.turnedAwayLimit
    case .native: 1
    }
  }

  /// Returns whether an engine may have this result for a push for which the native engine has `expected`. libcurl
  /// never knows more than the native engine, and sometimes less.
  func mayCall(_ expected: Misbehaviour.Outcome, _ found: Misbehaviour.Outcome, of row: Misbehaviour) -> Bool {
    guard self == .curl, found == .inDoubt else { return found == expected }
    switch expected {
    case .inDoubt: return true
    // libcurl sends the first push before it has received SETTINGS, and does not distinguish a refusal from other
    // errors.
    case .notSent: return !row.isBeforeAnything
    case .accepted: return row.isBlurred
    case .refused: return false
    }
  }
}
