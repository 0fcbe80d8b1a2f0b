/// A rule that a push breaks: where, what is wrong, and what to do.
public struct Finding: Sendable, Equatable {
  /// The rule.
  public var rule: PushRule
  /// The place, such as `payload.aps.badge`; empty for the whole.
  public var path: String
  /// What is wrong there.
  public var message: String
  /// What to do about it.
  public var hint: String?
  /// Where it stands in the text, when a text was looked at.
  public var position: TextPosition?

  init(_ rule: PushRule, _ path: String, _ message: String, hint: String? = nil, position: TextPosition? = nil) {
    self.rule = rule
    self.path = path
    self.message = message
    self.hint = hint
    self.position = position
  }
}

extension JobError {
  /// The error that keeps a push with this finding from being sent.
  init(_ finding: Finding) {
    let source = "rule \(finding.rule.rawValue): \(finding.rule.source)"
    self.init(
      field: finding.path, message: finding.message, hint: finding.hint.map { "\($0); \(source)" } ?? source)
  }
}
