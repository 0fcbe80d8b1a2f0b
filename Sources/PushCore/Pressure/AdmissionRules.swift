/// What is counted for each user when targets of a campaign are admitted, before any of them is sent.
public struct AdmissionRules: Sendable, Equatable {
  /// The campaign's app.
  public var app: String
  /// The campaign's category.
  public var category: String?
  /// The caps that it is held against, and counts for; none where it keeps to none.
  public var caps: [FrequencyCap]
  /// Seconds for which it is remembered what came to a user: the longest of all caps of the app, and no less than a
  /// campaign may take that goes by each device's own time.
  public var memory: Int
  /// What is added to the badge of each user; 0 for none.
  public var badgeStep: Int

  /// Memberwise.
  public init(app: String, category: String? = nil, caps: [FrequencyCap] = [], memory: Int = 0, badgeStep: Int = 0) {
    self.app = app
    self.category = category
    self.caps = caps
    self.memory = memory
    self.badgeStep = badgeStep
  }

  /// Nothing is counted.
  public static let none = AdmissionRules(app: "")

  /// What is counted for a campaign.
  ///
  /// - Parameter caps: all of its app.
  public init(_ campaign: Campaign, caps: [FrequencyCap]) {
    self.init(
      app: campaign.app, category: campaign.category,
      caps: campaign.keepsToCaps
        ? caps.filter { $0.category == nil || $0.category == campaign.category } : [],
      memory: max(caps.map(\.seconds).max() ?? 0, Self.leastMemory),
      badgeStep: campaign.content?.badgeStep ?? 0)
  }

  private static let leastMemory = 3 * 86_400

  /// Whether anything is counted: only then are targets admitted before they are granted.
  public var isNeeded: Bool { !caps.isEmpty || badgeStep > 0 }
}

extension Campaign {
  /// Whether it keeps to the caps of its app, and counts for them: not what is urgent or transactional, nor what names no
  /// users, nor what shows nothing by itself.
  public var keepsToCaps: Bool {
    guard part?.companion == nil else { return false }
    return switch audience {
    case .segment, .users, .campaign: lane != .urgent && !isTransactional
    case .tokens, .activity, .channel: false
    }
  }
}
