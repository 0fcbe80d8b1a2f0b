/// The users and devices that get a campaign.
public struct CampaignRecipients: Sendable, Equatable {
  /// The users, tokens or the channel that it goes to.
  public var audience: Audience
  /// The condition that a device must meet; `nil` for none.
  public var predicate: DevicePredicate?
  /// The share of the users that gets it; `nil` for all.
  public var sample: UserSample?
  /// The largest number of users that get it, those seen last first; `nil` for no limit.
  public var limit: Int?
  /// The devices of each user that get it.
  public var devices = DeviceChoice.all
  /// The share of the users that gets nothing, for a comparison; `nil` for none.
  public var control: UserSample?
  /// The users that are excluded.
  public var exclusion = AudienceExclusion()
  /// The subject, by the app's own names: a user may have opted out of it; `nil` for none.
  public var category: String?
  /// Whether users on the app's suppression lists get it too: a receipt, an alarm that they asked for.
  public var isTransactional = false
  /// The definitions of the dynamic segments that the audience depends on, as they were when the campaign began. The job
  /// has their names only; the store fills this in.
  public var definitions = SegmentDefinitions()
}
