/// Time, order and rate at which a campaign's pushes are sent.
public struct CampaignDelivery: Sendable, Equatable {
  /// Lane of the campaign.
  public var lane = Lane.normal
  /// Start time in ms since the epoch. With `nil` or a time that has passed, the campaign starts immediately.
  public var sendAt: Int?
  /// Maximum rate; `nil` for no limit.
  public var rate: CampaignRate?
  /// Rules for the send time of each push, in addition to the start time.
  public var timing = CampaignTiming()
  /// Stages of the campaign with the conditions for the next stage; `nil` if all users get it at the same time.
  public var stages: CampaignStages?
  /// Handling of a target that is in doubt after a crash.
  public var ambiguity = Ambiguity.resend
}
