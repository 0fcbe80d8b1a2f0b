import CampaignStore
import PushCore

/// The facts of a held campaign that never change. The worker determines them once for all slices.
struct CampaignFacts {
  /// The job without white space. A part of a campaign has the job of the whole campaign.
  let job: [UInt8]
  let channel: ServiceChannel
  let route: PushRoute
  let filter: DeviceFilter
  /// The legs of the campaign, which are expanded together.
  let expansion: JointExpansion
  /// The rules by which Redis grants the campaign's targets.
  let rules: GrantRules
  /// The account whose credit the campaign's pushes use.
  let account: CreditBudget.Account
  /// The rates that limit the campaign: its own rate, the rate of its app or of a quota that apps share, and the rate
  /// of the app's backend. Most campaigns have none.
  let limits: [RateLimit]
  /// The counters to which the campaign's pushes are added.
  let tally: PushTally
  /// The time at which the campaign was activated, in ms since the epoch.
  let createdAt: Int
  /// The campaign's round: the number of resumes before this context was made. After a later resume, these facts are
  /// outdated.
  let round: Int
}
