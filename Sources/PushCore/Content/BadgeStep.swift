/// Badge in a job that increments each user's badge, such as `"+1"`.
public enum BadgeStep {
  /// Maximum increment of a badge.
  public static let most = 1000

  /// Returns the increment in a text such as `+1`; `nil` for any other text.
  public static func read(_ text: String) -> Int? {
    guard text.first == "+", let step = Int(text.dropFirst()), 1...most ~= step, "+\(step)" == text else { return nil }
    return step
  }
}
