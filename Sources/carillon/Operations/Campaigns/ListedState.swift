import ArgumentParser
import CampaignStore

/// A state by which lists of campaigns can be filtered: the state of a campaign, or `queued` for a job without a
/// campaign.
enum ListedState: String, CaseIterable, ExpressibleByArgument {
  case queued, scheduled, active, paused, cancelled, completed, failed

  /// The state of a campaign; `nil` for a job that no worker has taken from the queue.
  var campaign: CampaignState? { CampaignState(rawValue: rawValue) }
}
