/// Rules for the grant of a target, which permits a worker to send the push. The rules say whether the user gets the
/// push, and what Redis counts for the user.
public struct GrantRules: Sendable, Equatable {
  /// The campaign's app. The user must still have the device of this app.
  public var app: String
  /// Suppression lists that apply. A user on any of these lists gets no push.
  public var suppression: [SuppressionList]
  /// The campaign's category.
  public var category: String?
  /// Frequency caps that apply to the campaign, and for which its targets count. Empty if no cap applies.
  public var caps: [FrequencyCap]
  /// Seconds for which Redis keeps the frequency cap counters of a user. The value is the longest period of the app's
  /// caps, but at least the longest duration of a campaign that uses each device's local time.
  public var memory: Int
  /// Number that is added to the badge of each user; 0 for none.
  public var badgeStep: Int

  /// Creates an instance. With the defaults, a target is granted if its user still has the device.
  public init(
    app: String, suppression: [SuppressionList] = [], category: String? = nil, caps: [FrequencyCap] = [],
    memory: Int = 0, badgeStep: Int = 0
  ) {
    self.app = app
    self.suppression = suppression
    self.category = category
    self.caps = caps
    self.memory = memory
    self.badgeStep = badgeStep
  }

  /// Creates the rules of a campaign.
  ///
  /// - Parameter caps: all caps of its app.
  public init(_ campaign: Campaign, caps: [FrequencyCap]) {
    self.init(
      app: campaign.app, suppression: campaign.suppression, category: campaign.recipients.category,
      caps: campaign.keepsToCaps
        ? caps.filter { $0.category == nil || $0.category == campaign.recipients.category } : [],
      memory: max(caps.map(\.seconds).max() ?? 0, Self.minimumMemory),
      badgeStep: campaign.message.content?.badgeStep ?? 0)
  }

  private static let minimumMemory = 3 * 86_400

  /// Whether Redis counts anything for the users of granted targets.
  public var countsUsers: Bool { !caps.isEmpty || badgeStep > 0 }
}

extension Campaign {
  /// Whether the frequency caps of the app apply to the campaign. Only such a campaign counts for them. The caps do not
  /// apply to urgent and transactional campaigns, campaigns without users, and companions, which show nothing on their
  /// own.
  public var keepsToCaps: Bool {
    guard part?.companion == nil else { return false }
    return switch recipients.audience {
    case .segment, .users, .campaign: delivery.lane != .urgent && !recipients.isTransactional
    case .tokens, .activity, .channel: false
    }
  }
}
