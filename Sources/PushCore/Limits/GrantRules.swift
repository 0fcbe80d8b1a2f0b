/// What decides, when a target of a campaign is granted, whether its user gets the push and what is counted for the user.
public struct GrantRules: Sendable, Equatable {
  /// The campaign's app: the user must still have the device of that app.
  public var app: String
  /// The suppression lists that apply: a user who is on one of them gets nothing.
  public var suppression: [SuppressionList]
  /// The campaign's category.
  public var category: String?
  /// The caps that it is held against, and counts for; none where it keeps to none.
  public var caps: [FrequencyCap]
  /// Seconds for which it is remembered what came to a user: the longest of all caps of the app, and no less than a
  /// campaign may take that goes by each device's own time.
  public var memory: Int
  /// What is added to the badge of each user; 0 for none.
  public var badgeStep: Int

  /// Memberwise; by default a target needs nothing but its device.
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

  /// The rules of a campaign.
  ///
  /// - Parameter caps: all of its app.
  public init(_ campaign: Campaign, caps: [FrequencyCap]) {
    self.init(
      app: campaign.app, suppression: campaign.suppression, category: campaign.recipients.category,
      caps: campaign.keepsToCaps
        ? caps.filter { $0.category == nil || $0.category == campaign.recipients.category } : [],
      memory: max(caps.map(\.seconds).max() ?? 0, Self.leastMemory),
      badgeStep: campaign.message.content?.badgeStep ?? 0)
  }

  private static let leastMemory = 3 * 86_400

  /// Whether anything is counted for the users of granted targets.
  public var countsUsers: Bool { !caps.isEmpty || badgeStep > 0 }
}

extension Campaign {
  /// Whether it keeps to the caps of its app, and counts for them: not what is urgent or transactional, nor what names no
  /// users, nor what shows nothing by itself.
  public var keepsToCaps: Bool {
    guard part?.companion == nil else { return false }
    return switch recipients.audience {
    case .segment, .users, .campaign: delivery.lane != .urgent && !recipients.isTransactional
    case .tokens, .activity, .channel: false
    }
  }
}
