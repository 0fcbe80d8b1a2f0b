import CampaignStore
import PushTransport

/// How much slower an app's campaigns go while its own backend is slow or failing. Pure: time is an argument.
///
/// What users do next the backend has to bear, so its own health says how fast is right: half as fast with each look that finds
/// it badly, down to a bound, and a tenth of its rate faster with each that finds it well. One bad look alone is nothing.
enum BackendPace {
  /// Looks that find it badly, one after the other, before anything follows.
  static let patience = 2
  /// What a bad look leaves of the share.
  private static let fall = 0.5
  /// What a good look adds to it.
  private static let rise = 0.1

  /// How it stands with a backend after a look.
  ///
  /// - Parameters:
  ///   - standing: before.
  ///   - finding: of the look.
  ///   - leastShare: the bound: above 0, at most 1.
  ///   - now: ms since the epoch.
  static func after(
    _ standing: BackendStanding, _ finding: HealthCheck.Finding, leastShare: Double, now: Int
  ) -> BackendStanding {
    var next = standing
    next.at = now
    if let reason = reason(of: finding) {
      next.badLooks += 1
      guard standing.isSlowed || next.badLooks >= patience else { return next }
      next.share = max(leastShare, rounded(standing.share * fall))
      next.since = standing.since ?? now
      next.reason = reason
    } else {
      next.badLooks = 0
      next.share = min(1, rounded(standing.share + rise))
      if !next.isSlowed { (next.since, next.reason) = (nil, nil) }
    }
    return next
  }

  /// For people; `nil` where nothing is wrong.
  private static func reason(of finding: HealthCheck.Finding) -> String? {
    switch finding {
    case .well: nil
    case .slow(let milliseconds): "it takes \(milliseconds) ms to answer"
    case .failing(let error): error
    }
  }

  /// Sums of tenths stay tenths.
  private static func rounded(_ share: Double) -> Double { (share * 1000).rounded() / 1000 }
}
