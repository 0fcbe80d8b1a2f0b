import CampaignStore
import PushTransport

/// Decides how fast an app's campaigns are while the app's backend is slow or failing. The *share* is the allowed part
/// of the backend's full rate. Time is an argument.
///
/// Users who open a push cause load on the backend, so the health of the backend controls the speed. The first bad
/// check while the share is 1 has no effect. Every other bad check halves the share, down to `leastShare`. Each good
/// check adds a tenth of the full rate.
enum BackendPace {
  /// Number of consecutive bad checks at which the share falls for the first time.
  static let toleratedBadChecks = 2
  /// Factor by which a bad check multiplies the share.
  private static let fall = 0.5
  /// Amount that a good check adds to the share.
  private static let rise = 0.1

  /// Returns the state of a backend after a check.
  ///
  /// - Parameters:
  ///   - status: The state before the check.
  ///   - finding: The result of the check.
  ///   - leastShare: The lower bound of the share: above 0, at most 1.
  ///   - now: In ms since the epoch.
  static func after(
    _ status: BackendStatus, _ finding: HealthCheck.Finding, leastShare: Double, now: Int
  ) -> BackendStatus {
    var next = status
    next.at = now
    if let reason = reason(of: finding) {
      next.badChecks += 1
      guard status.isSlowed || next.badChecks >= toleratedBadChecks else { return next }
      next.share = max(leastShare, rounded(status.share * fall))
      next.since = status.since ?? now
      next.reason = reason
    } else {
      next.badChecks = 0
      next.share = min(1, rounded(status.share + rise))
      if !next.isSlowed { (next.since, next.reason) = (nil, nil) }
    }
    return next
  }

  /// Returns the reason, for operators; `nil` if the backend is healthy.
  private static func reason(of finding: HealthCheck.Finding) -> String? {
    switch finding {
    case .healthy: nil
    case .slow(let milliseconds): "it answers after \(milliseconds) ms"
    case .failing(let error): error
    }
  }

  /// Rounds to thousandths, so that sums of tenths stay tenths.
  private static func rounded(_ share: Double) -> Double { (share * 1000).rounded() / 1000 }
}
