/// Frequency cap: limits how many campaigns of an app a user gets in a period.
public struct FrequencyCap: Sendable, Equatable {
  /// Category of the campaigns that the cap limits; `nil` for all campaigns of the app.
  public var category: String?
  /// Maximum number of campaigns for a user.
  public var most: Int
  /// Length of the period in seconds. The cap holds for every period of this length.
  public var seconds: Int

  /// Creates an instance. The configuration reader checks the ranges.
  public init(category: String? = nil, most: Int, seconds: Int) {
    self.category = category
    self.most = most
    self.seconds = seconds
  }

  /// Maximum sum of the values ``most`` of all caps of an app. The counters of a user in Redis have no room for more
  /// campaigns.
  public static let maximumSum = 255
  /// Maximum number of caps of an app.
  public static let maximumOfApp = 16
  /// Allowed periods in seconds, from a minute to a year.
  public static let spans = 60...366 * 86_400
}
