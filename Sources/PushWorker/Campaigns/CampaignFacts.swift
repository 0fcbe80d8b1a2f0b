import CampaignStore
import PushCore

/// What never changes of a campaign in hand, found once instead of for each slice.
struct CampaignFacts {
  /// The job without white space; of a part that of its campaign.
  let job: [UInt8]
  let app: AppChannel
  let route: PushRoute
  let filter: DeviceFilter
  /// The rules by which its targets are granted.
  let rules: GrantRules
  /// The account whose credit its pushes take.
  let account: CreditBudget.Account
  /// The rates that it is held against: its own, its app's, or none.
  let limits: [RateLimit]
  /// Where its pushes are counted.
  let tally: PushTally
  /// When it was taken in, in ms since the epoch.
  let createdAt: Int
  /// How often it had been resumed when the context was made: what is known of an earlier round says nothing of this one.
  let round: Int
}
