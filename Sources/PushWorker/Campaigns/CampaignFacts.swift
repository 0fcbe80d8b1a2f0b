import CampaignStore
import PushCore

/// The constant facts of a held campaign, determined once instead of for each slice.
struct CampaignFacts {
  /// The job without white space. A part has the job of its campaign.
  let job: [UInt8]
  let channel: ServiceChannel
  let route: PushRoute
  let filter: DeviceFilter
  /// The legs that are expanded together.
  let expansion: JointExpansion
  /// The rules by which its targets are granted.
  let rules: GrantRules
  /// The account whose credit its pushes use.
  let account: CreditBudget.Account
  /// The rates that limit it: its own, its app's and its backend's; usually none.
  let limits: [RateLimit]
  /// The counters of its pushes.
  let tally: PushTally
  /// The time at which it was activated, in ms since the epoch.
  let createdAt: Int
  /// Number of resumes before this context was made. Facts of an earlier round do not apply to this one.
  let round: Int
}
