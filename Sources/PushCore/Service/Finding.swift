/// A rule of a push service for what is sent to it.
///
/// What breaks an error is refused; a warning is something that is only doubtful, or only matters to some.
public struct PushRule: Sendable, Equatable {
  /// How much it matters.
  public enum Severity: String, Sendable {
    case error, warning
  }

  /// Its name in messages and in JSON, never changed.
  public var id: String
  /// How much it matters.
  public var severity: Severity
  /// The rule.
  public var summary: String
  /// Who says so.
  public var source: String

  /// Memberwise.
  public init(id: String, severity: Severity, summary: String, source: String) {
    self.id = id
    self.severity = severity
    self.summary = summary
    self.source = source
  }
}

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

  /// Memberwise.
  public init(
    _ rule: PushRule, _ path: String, _ message: String, hint: String? = nil, position: TextPosition? = nil
  ) {
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
    let source = "rule \(finding.rule.id): \(finding.rule.source)"
    self.init(
      field: finding.path, message: finding.message, hint: finding.hint.map { "\($0); \(source)" } ?? source)
  }
}
