/// Rule for the pushes to a service, such as the maximum size of a payload.
///
/// Carillon refuses a push that breaks a rule of severity error. A push that breaks a rule of severity warning is sent:
/// the violation may be intended, or concern only some users.
public struct PushRule: Sendable, Equatable {
  /// Severity of a rule.
  public enum Severity: String, Sendable {
    case error, warning
  }

  /// Identifier of the rule in error messages and in JSON; never changed.
  public var id: String
  /// Severity of the rule.
  public var severity: Severity
  /// Text of the rule.
  public var summary: String
  /// Source of the rule, such as a page of documentation.
  public var source: String

  /// Creates an instance with these values.
  public init(id: String, severity: Severity, summary: String, source: String) {
    self.id = id
    self.severity = severity
    self.summary = summary
    self.source = source
  }
}

/// Violation of a rule by a push, with its place, the problem and a hint.
public struct Finding: Sendable, Equatable {
  /// Rule that the push breaks.
  public var rule: PushRule
  /// Place of the violation, such as `payload.aps.badge`; empty for the whole push.
  public var path: String
  /// Problem at this place.
  public var message: String
  /// The next step for the reader of the finding; `nil` if the message contains it.
  public var hint: String?
  /// Position in the text, if the finding comes from a text.
  public var position: TextPosition?

  /// Creates an instance with these values.
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

extension Finding {
  /// Id of the rule that the variants of a job must differ. Every service has a rule with this id.
  private static let comparison = "variant-same"

  /// Returns the findings of several services about one job, each finding once. If variants are the same for only some
  /// of the services, the finding names these services.
  ///
  /// - Parameter lists: the findings of each service, with the service's title.
  public static func joined(_ lists: [(service: String, findings: [Finding])]) -> [Finding] {
    var all: [Finding] = []
    for var finding in lists.flatMap(\.findings) {
      if finding.rule.id == comparison {
        let same = lists.filter { list in
          list.findings.contains { $0.rule.id == comparison && $0.path == finding.path }
        }
        guard !all.contains(where: { $0.rule.id == comparison && $0.path == finding.path }) else { continue }
        if same.count < lists.count { finding.message += " for \(same.map(\.service).joined(separator: " and "))" }
      }
      guard !all.contains(where: { $0.path == finding.path && $0.message == finding.message }) else { continue }
      all.append(finding)
    }
    return all
  }
}

extension JobError {
  /// Creates the error for a job whose push has this finding.
  init(_ finding: Finding) {
    let source = "rule \(finding.rule.id): \(finding.rule.source)"
    self.init(
      field: finding.path, message: finding.message, hint: finding.hint.map { "\($0); \(source)" } ?? source)
  }
}
