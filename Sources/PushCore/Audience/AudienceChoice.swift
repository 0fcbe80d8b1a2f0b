/// Users that a campaign which has ended had, by what became of their pushes and what they did with them.
public struct EarlierAudience: Hashable, Sendable {
  /// The campaign's id.
  public let campaign: String
  /// What became of at least one push of a user; each once, at least one, in the order of their codes.
  public let outcomes: [Outcome]
  /// Whether they opened it, by the word of the app; `nil` whether they did or not.
  public let opened: Bool?
  /// The ids of its stages, where it has parts: the store's to say.
  public var parts: [String] = []

  /// Whoever got it, or may have got it: no answer came before its worker died.
  public static let reached: [Outcome] = [.accepted, .unknown]

  /// - Parameters:
  ///   - campaign: its id.
  ///   - outcomes: at least one.
  ///   - opened: whether they opened it; `nil` whether they did or not.
  public init(campaign: String, outcomes: [Outcome] = Self.reached, opened: Bool? = nil) {
    self.campaign = campaign
    self.opened = opened
    self.outcomes = Set(outcomes).sorted { $0.rawValue < $1.rawValue }
  }
}

/// Who is left out of an audience.
public struct AudienceExclusion: Sendable, Equatable {
  /// Those for whom this holds; `nil` for nobody.
  public var segment: AudienceExpression?
  /// Those who were reached by these.
  public var campaigns: [EarlierAudience]
  /// Those who have this Live Activity; `nil` for nobody.
  public var activity: String?

  /// Memberwise.
  public init(segment: AudienceExpression? = nil, campaigns: [EarlierAudience] = [], activity: String? = nil) {
    self.segment = segment
    self.campaigns = campaigns
    self.activity = activity
  }

  /// Whether it leaves nobody out.
  public var isEmpty: Bool { segment == nil && campaigns.isEmpty && activity == nil }
}

/// Users to whom an app sends nothing, or nothing of one category: they have said so, or a regulator has. It belongs to the
/// app and not to its campaigns, so no job can forget it.
public struct SuppressionList: Hashable, Sendable {
  /// The name of the app.
  public let app: String
  /// Allowed by `PlainName`; `nil` for everything that is not transactional.
  public let category: String?

  /// - Parameters:
  ///   - app: its name.
  ///   - category: allowed by `PlainName`; `nil` for everything that is not transactional.
  public init(app: String, category: String? = nil) {
    self.app = app
    self.category = category
  }

  /// The segment that it is kept in, of a name that nobody can give to one: `~app` or `~app~category`.
  public var segment: String { "~" + app + (category.map { "~" + $0 } ?? "") }

  /// The list that a segment is; `nil` for any other segment.
  public init?(segment: String) {
    let parts = segment.split(separator: "~", omittingEmptySubsequences: false)
    guard 2...3 ~= parts.count, parts[0].isEmpty, !parts[1].isEmpty else { return nil }
    self.init(app: String(parts[1]), category: parts.count == 3 ? String(parts[2]) : nil)
  }
}

/// Live Activities, as the store keeps who has one: in a segment of a name that nobody can give to one.
public enum ActivitySegment {
  /// Milliseconds that a token is kept for: an activity lasts eight hours, and stays on the screen four more (Apple,
  /// "Displaying live data with Live Activities"); two days leave room for clocks, and for apps that start it again.
  public static let lifetime = 2 * 86_400_000

  /// The segment of an activity.
  public static func name(of activity: String) -> String { "@" + activity }

  /// The activity that a segment is of; `nil` for any other segment.
  public static func activity(of segment: String) -> String? {
    segment.first == "@" ? String(segment.dropFirst()) : nil
  }
}
