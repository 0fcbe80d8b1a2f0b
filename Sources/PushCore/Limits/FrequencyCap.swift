/// How often an app's campaigns come to a user at most.
public struct FrequencyCap: Sendable, Equatable {
  /// Of which campaigns it is, by their category; `nil` for all of the app.
  public var category: String?
  /// How many campaigns come to a user.
  public var most: Int
  /// In any so many seconds.
  public var seconds: Int

  /// Memberwise; the ranges are the configuration file's to check.
  public init(category: String? = nil, most: Int, seconds: Int) {
    self.category = category
    self.most = most
    self.seconds = seconds
  }

  /// How many campaigns all caps of an app may allow together: what is kept of a user has no room for more.
  public static let mostTogether = 255
  /// Caps of an app at most.
  public static let mostOfApp = 16
  /// Seconds that a cap is of, from a minute to a year.
  public static let spans = 60...366 * 86_400
}
