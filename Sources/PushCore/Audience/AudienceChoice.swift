/// Users of an ended campaign, selected by the outcomes of their pushes and by whether they opened the push.
public struct EarlierAudience: Hashable, Sendable {
  /// The campaign's id.
  public let campaign: String
  /// The user must have at least one of these outcomes. The list is not empty, is sorted by code and has no duplicates.
  public let outcomes: [Outcome]
  /// `true` selects users who opened the push according to the app's receipts, `false` selects all others. `nil`
  /// selects both.
  public let opened: Bool?
  /// Ids of the campaign's stages; empty for a campaign without parts. The store sets them.
  public var parts: [String] = []

  /// Outcomes of users who got the push (`accepted`) or may have got it (`unknown`).
  public static let reached: [Outcome] = [.accepted, .unknown]

  /// - Parameters:
  ///   - campaign: the campaign's id.
  ///   - outcomes: at least one.
  ///   - opened: see ``opened``.
  public init(campaign: String, outcomes: [Outcome] = Self.reached, opened: Bool? = nil) {
    self.campaign = campaign
    self.opened = opened
    self.outcomes = Set(outcomes).sorted { $0.rawValue < $1.rawValue }
  }
}

/// Users that are excluded from an audience.
public struct AudienceExclusion: Sendable, Equatable {
  /// Expression whose users are excluded; `nil` for none.
  public var segment: AudienceExpression?
  /// Campaigns whose selected users are excluded (``EarlierAudience``).
  public var campaigns: [EarlierAudience]
  /// Live Activity whose users are excluded; `nil` for none.
  public var activity: String?

  /// Creates an instance with these values.
  public init(segment: AudienceExpression? = nil, campaigns: [EarlierAudience] = [], activity: String? = nil) {
    self.segment = segment
    self.campaigns = campaigns
    self.activity = activity
  }

  /// Whether no user is excluded.
  public var isEmpty: Bool { segment == nil && campaigns.isEmpty && activity == nil }
}

/// Suppression list: users who get no pushes of an app, or no pushes of one category, because they opted out or because
/// a regulator requires it. The list belongs to the app and not to its campaigns, so no job can bypass it.
public struct SuppressionList: Hashable, Sendable {
  /// Name of the app.
  public let app: String
  /// Category to which the list applies, a valid `PlainName`. `nil` if the list applies to all campaigns of the app
  /// that are not transactional.
  public let category: String?

  /// - Parameters:
  ///   - app: the name of the app.
  ///   - category: see ``category``.
  public init(app: String, category: String? = nil) {
    self.app = app
    self.category = category
  }

  /// Name of the segment that stores the list: `~app` or `~app~category`. Producers can't create a segment with such a
  /// name.
  public var segment: String { "~" + app + (category.map { "~" + $0 } ?? "") }

  /// Parses the name of a segment that stores a suppression list; `nil` for any other segment.
  public init?(segment: String) {
    let parts = segment.split(separator: "~", omittingEmptySubsequences: false)
    guard 2...3 ~= parts.count, parts[0].isEmpty, !parts[1].isEmpty else { return nil }
    self.init(app: String(parts[1]), category: parts.count == 3 ? String(parts[2]) : nil)
  }
}

/// Segments that store the users of a Live Activity. Producers can't create a segment with such a name.
public enum ActivitySegment {
  /// Milliseconds after which a token of a Live Activity is removed. An activity lasts 8 hours and stays on the screen
  /// for 4 more (Apple, "Displaying live data with Live Activities"). Two days leave room for clock differences and for
  /// apps that start the activity again.
  public static let lifetime = 2 * 86_400_000

  /// Returns the name of an activity's segment.
  public static func name(of activity: String) -> String { "@" + activity }

  /// Returns the activity whose users a segment stores; `nil` for any other segment.
  public static func activity(of segment: String) -> String? {
    segment.first == "@" ? String(segment.dropFirst()) : nil
  }
}
