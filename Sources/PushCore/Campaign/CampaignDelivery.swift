/// The time, the order and the rate at which a campaign's pushes are sent.
public struct CampaignDelivery: Sendable, Equatable {
  /// Its order among the campaigns.
  public var lane = Lane.normal
  /// Its start, in ms since the epoch; `nil`, or a time that has passed, for at once.
  public var sendAt: Int?
  /// The largest rate; `nil` for no limit.
  public var rate: CampaignRate?
  /// The rules for the time of each push that do not follow from the start alone.
  public var timing = CampaignTiming()
  /// The users who get it first, and the conditions for the rest; `nil` if all get it at once.
  public var stages: CampaignStages?
  /// The consequence for a target that was in doubt after a crash.
  public var ambiguity = Ambiguity.resend
}
