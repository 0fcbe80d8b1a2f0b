public import PushCore

/// Checks one push of a job against the rules of a service. Pure.
public protocol PushInspector {
  associatedtype Draft: LintDraft
  associatedtype Rule: LintRule

  /// The push.
  var draft: Draft { get }
  /// Current time in seconds since 1970; `nil` omits rules that depend on the time.
  var now: Int? { get }
  /// Findings so far.
  var violations: Violations { get set }

  init(_ draft: Draft, now: Int?)

  /// Checks the fields of the job, which are the same for all its pushes.
  mutating func checkFields()
  /// Checks the payload.
  mutating func checkPayload()
}

/// Findings about one push, with a limit for each severity.
public struct Violations: Sendable {
  fileprivate private(set) var findings: [Finding] = []
  private var errors = 0
  private var warnings = 0

  /// Creates an empty list.
  public init() {}

  fileprivate var isFull: Bool { errors >= PushLint.maximumFindings }

  fileprivate mutating func add(_ finding: Finding) {
    if finding.isError { errors += 1 } else { warnings += 1 }
    if (finding.isError ? errors : warnings) <= PushLint.maximumFindings { findings.append(finding) }
  }
}

extension PushInspector {
  /// Whether the limit of reported errors is reached. If so, the rest of the push is not checked.
  public var isFull: Bool { violations.isFull }

  /// Adds a finding.
  public mutating func report(_ rule: Rule, _ path: String, _ message: String, hint: String? = nil) {
    violations.add(Finding(PushRule(rule), path, message, hint: hint))
  }

  /// Returns the path of a place in the payload.
  public func path(_ place: String) -> String { draft.path.isEmpty ? place : "\(draft.path).\(place)" }

  // MARK: Checks for every service

  /// Checks the size of the payload.
  ///
  /// - Parameters:
  ///   - content: words that follow the number of bytes in a message and say what counts, such as " of keys and
  ///     values"; empty if the whole payload counts.
  ///   - owner: words at the end of the message that say who sets the limit, such as "FCM allows".
  ///   - hint: how to make the push smaller.
  public mutating func checkSize(of content: String = "", allowedBy owner: String, hint: String) {
    let (payload, limit) = (draft.payload, draft.maximumSize)
    if payload.size <= limit, let longest = payload.longestSize, longest > limit {
      report(
        .payloadRoom, draft.path,
        "up to \(longest) bytes with the longest possible values: only \(limit - payload.fixedSize) bytes are left for "
          + "values, and users with longer values get no push",
        hint: "name a text that Carillon may shorten, such as \"trim\": \"message.body\"")
    }
    guard payload.size > limit else { return }
    report(
      .payloadSize, draft.path,
      "\(payload.size) bytes\(content)\(payload.largestFor.map { " for user " + Excerpt.quoted($0) } ?? ""), which is "
        + "\(payload.size - limit) over the \(limit) that \(owner)",
      hint: hint)
  }

  /// Seconds from now, or from the start of the campaign, to the expiration; `nil` if they are not known.
  public var lifetime: Int? {
    switch draft.expiration {
    case .after(let seconds): seconds
    case .at(let instant): now.map { instant - $0 }
    case .immediate: 0
    case .unset: nil
    }
  }

  /// Checks the expiration.
  ///
  /// - Parameters:
  ///   - service: the title of the service.
  ///   - days: the longest time for which the service stores a push.
  public mutating func checkExpiration(storedBy service: String, days: Int) {
    guard let lifetime else { return }
    if case .at = draft.expiration, lifetime <= 0 {
      report(
        .expirationPast, "expiration", "has passed: no push would be sent",
        hint: "use a later time, or a duration, which counts from the campaign's start")
    }
    guard lifetime > days * 86400 else { return }
    report(
      .expirationLong, "expiration",
      "is more than \(days) days ahead, the maximum time for which \(service) stores a push",
      hint: "use \(days)d, which has the same effect")
  }

  // MARK: Findings

  /// Returns a finding for every rule that a push of a job breaks in any language or variant. If a finding also applies
  /// to the payload without the changes of any language, it is returned only once.
  public static func findings(in drafts: [Draft], now: Int?) -> [Finding] {
    guard let first = drafts.first else { return [] }
    var inspector = Self(first, now: now)
    inspector.checkFields()
    inspector.checkPayload()
    let own = Set(inspector.violations.findings.map { FindingKey($0, in: first.path) })
    var all = inspector.violations.findings.map { placed($0, first) }
    for draft in drafts.dropFirst() where all.count(where: \.isError) < PushLint.maximumFindings {
      var inspector = Self(draft, now: now)
      inspector.checkPayload()
      all = PushLint.bounded(
        all
          + inspector.violations.findings.filter { !own.contains(FindingKey($0, in: draft.path)) }.map {
            placed($0, draft)
          })
    }
    return PushLint.bounded(all)
  }

  /// Returns a finding with its path in the job.
  private static func placed(_ finding: Finding, _ draft: Draft) -> Finding {
    var finding = finding
    finding.path = draft.payload.place(finding.path)
    return finding
  }

  /// Finds variants with equal content, because a comparison of such variants gives no information.
  public static func repeatedVariants(
    _ root: JSONValue, _ bytes: [UInt8], for service: any PushService
  ) -> [Finding] {
    guard case .object(let members) = root.kind, members.value("variants") != nil,
      let repeated = try? PayloadForm.repeated(in: members, bytes, for: service)
    else { return [] }
    return repeated.map { path, name in
      Finding(
        PushRule(Rule.variantSame), path, "has the same content as variant \(Excerpt.quoted(name))",
        hint: "change its message, or remove it")
    }
  }
}

/// Rule of a finding, and its place below the payload.
private struct FindingKey: Hashable {
  let rule: String
  let place: [UInt8]

  /// - Parameter payload: path of the payload.
  init(_ finding: Finding, in payload: String) {
    rule = finding.rule.id
    place = Array(finding.path.utf8.dropFirst(payload.utf8.count))
  }
}

extension Finding {
  /// Whether the finding makes a job invalid.
  fileprivate var isError: Bool { rule.severity == .error }
}
