/// Users and devices that get a campaign.
public struct CampaignRecipients: Sendable, Equatable {
  /// Users, tokens or channel of the campaign.
  public var audience: Audience
  /// Condition that a device must meet; `nil` for none.
  public var predicate: DevicePredicate?
  /// Share of the users that get the campaign; `nil` for all.
  public var sample: UserSample?
  /// Maximum number of users, the most recently seen first; `nil` for no limit.
  public var limit: Int?
  /// The only device that gets the campaign; the audience is then the user of the device. `nil` for all devices.
  public var token: DeviceToken?
  /// Devices of each user that get the campaign.
  public var devices = DeviceChoice.all
  /// Control group of the campaign: the share of the users that get nothing, for a comparison. `nil` for none.
  public var control: UserSample?
  /// Users that are excluded.
  public var exclusion = AudienceExclusion()
  /// Category of the campaign, by the app's own name; `nil` for none. A user may have opted out of the category.
  public var category: String?
  /// Whether users on the app's suppression lists get the campaign too, because they asked for such a push: for example
  /// an order confirmation or an alarm.
  public var isTransactional = false
  /// Rules of the segments on which the audience depends, as they were when the campaign began. The job contains only
  /// the names of the segments; the store adds the rules.
  public var definitions = SegmentDefinitions()
}
