public import PushCore

/// Rule of a push service; the cases of the conforming type are the table of the service's rules. The raw value is the
/// rule's id in findings and in JSON, so it never changes.
///
/// Carillon refuses a push that breaks a rule with the severity error. Carillon sends a push that breaks a rule with
/// the severity warning, because the violation may be intended, or may matter only for some apps. `lint`, `campaign
/// submit` and the API report warnings.
public protocol LintRule: RawRepresentable<String>, CaseIterable, Sendable {
  /// Severity of a violation, the rule in one sentence, and the source of the rule.
  typealias Entry = (severity: PushRule.Severity, summary: String, source: String)

  /// Content of the table for this rule.
  var entry: Entry { get }

  // MARK: Rules of every service

  /// The expiration is in the future.
  static var expirationPast: Self { get }
  /// The service stores a push until the expiration.
  static var expirationLong: Self { get }
  /// A push is not larger than the limit of the service.
  static var payloadSize: Self { get }
  /// A push is not larger than the limit of the service if its values are as long as possible.
  static var payloadRoom: Self { get }
  /// The variants of a job differ.
  static var variantSame: Self { get }
}

extension LintRule {
  /// Severity of a violation.
  public var severity: PushRule.Severity { entry.severity }
  /// The rule in one sentence.
  public var summary: String { entry.summary }
  /// Source of the rule.
  public var source: String { entry.source }

  /// Returns the table entry of a rule that all services share.
  public static func entry(_ rule: PushRule) -> Entry { (rule.severity, rule.summary, rule.source) }
}

extension PushRule {
  /// Creates the value for this rule that other modules use.
  public init(_ rule: some LintRule) {
    self.init(id: rule.rawValue, severity: rule.severity, summary: rule.summary, source: rule.source)
  }
}
