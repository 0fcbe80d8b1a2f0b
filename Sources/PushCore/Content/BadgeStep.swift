/// What a job writes as `aps.badge` where each user's number goes on from where it is: `"+1"`.
public enum BadgeStep {
  /// What is added to a badge at most.
  public static let most = 1000
  /// What it looks like, for messages.
  public static let form = "a text such as \"+1\", with a number from 1 to \(most)"

  /// What is added; `nil` for any other text.
  public static func read(_ text: String) -> Int? {
    guard text.first == "+", let step = Int(text.dropFirst()), 1...most ~= step, "+\(step)" == text else { return nil }
    return step
  }
}
