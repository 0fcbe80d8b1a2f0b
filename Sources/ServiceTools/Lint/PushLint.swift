public import PushCore

/// Result of the lint of a file: its kind, the sizes of its payload, and the findings.
public struct PushLint: Sendable {
  /// Kind of a file.
  public enum Kind: String, Sendable {
    case payload, job
    /// Content that many jobs share, for `template put`.
    case template
    /// Settings or source text for an interface that the push service has shut down.
    case legacy
  }

  /// Size of the payload for one kind of push.
  public struct Size: Sendable, Equatable {
    /// Push type, or the name of another kind of push that has its own limit.
    public var name: String
    /// Size of the largest push in bytes, in the form in which it is sent.
    public var bytes: Int
    /// Maximum number of bytes that the service accepts.
    public var limit: Int

    /// Creates an instance with these values.
    public init(name: String, bytes: Int, limit: Int) { (self.name, self.bytes, self.limit) = (name, bytes, limit) }
  }

  /// Kind of the file.
  public let kind: Kind
  /// Name of the kind, for people.
  public let title: String
  /// Push type for which the file was checked; `nil` for ``Kind/legacy``, and for a service without push types.
  public var pushType: String?
  /// Whether the push type was inferred from the keys of the payload.
  public var isInferred = false
  /// Size for the push type and, if the push type was inferred, for every other kind of push.
  public var sizes: [Size] = []
  /// Variants of a job; `nil` if all users get the same push.
  public var variants: CampaignVariants?
  /// Titles of the services for which a job or template was checked; empty if there was only one service.
  public private(set) var services: [String] = []
  /// Findings in the order of the text; at most ``maximumFindings``.
  public var findings: [Finding] = []

  /// Maximum number of findings that are reported about one file.
  public static let maximumFindings = 100

  /// - Parameter title: the name of the kind, for people; `nil` uses the raw value of the kind.
  public init(kind: Kind, title: String? = nil) {
    self.kind = kind
    self.title = title ?? kind.rawValue
  }

  /// Returns at most ``maximumFindings`` findings, in the given order. If there are more, errors take precedence over
  /// warnings, because errors decide whether a job is accepted.
  public static func bounded(_ findings: [Finding]) -> [Finding] {
    guard findings.count > maximumFindings else { return findings }
    var errors = min(maximumFindings, findings.count { $0.rule.severity == .error })
    var others = maximumFindings - errors
    return findings.filter { finding in
      let isError = finding.rule.severity == .error
      if isError { errors -= 1 } else { others -= 1 }
      return isError ? errors >= 0 : others >= 0
    }
  }

  /// Returns the findings of one severity.
  public func findings(_ severity: PushRule.Severity) -> [Finding] {
    findings.filter { $0.rule.severity == severity }
  }

  /// Sets the positions of the findings in the text, adds findings for duplicate keys, and sorts the findings.
  ///
  /// - Parameters:
  ///   - root: the parsed file.
  ///   - bytes: the text of the file.
  public mutating func setPositions(in root: JSONValue, _ bytes: [UInt8]) {
    let lines = TextLines(bytes)
    for index in findings.indices {
      findings[index].position = lines.position(of: root.offset(of: findings[index].path))
    }
    Self.findRepeats(in: root, path: "", lines, &findings)
    sort()
  }

  /// Adds the store's findings about a job, with their positions in the text.
  ///
  /// - Parameters:
  ///   - more: the findings.
  ///   - bytes: the text that was checked.
  public mutating func add(_ more: [Finding], in bytes: [UInt8]) {
    let root = try? JSONValue(parsing: bytes, maximumDepth: CampaignJob.maximumNesting, allowsRepeats: true)
    let lines = TextLines(bytes)
    findings += more.map { finding in
      var finding = finding
      finding.position = root.map { lines.position(of: $0.offset(of: finding.path)) }
      return finding
    }
    sort()
  }

  /// Combines the results for several services into one result for the job or template.
  ///
  /// - Parameter lints: the result for each service, at least one.
  public static func joined(_ lints: [(service: any PushService, lint: PushLint)]) -> PushLint {
    var all = lints[0].lint
    guard lints.count > 1 else { return all }
    all.services = lints.map(\.service.title)
    all.sizes = lints.flatMap { service, lint in
      lint.sizes.map { Size(name: "\(service.name) \($0.name)", bytes: $0.bytes, limit: $0.limit) }
    }
    all.variants = lints.lazy.compactMap(\.lint.variants).first
    all.findings = Finding.joined(lints.map { ($0.service.title, $0.lint.findings) })
    all.sort()
    return all
  }

  /// Returns the findings for an error of the job parser. If the file has fields that belong to another object, the
  /// result has a finding for each of these fields instead.
  public static func findings(for error: JobError, in root: JSONValue, _ apps: JobApps) -> [Finding] {
    let moved = CampaignJob.movedFields(of: root, apps)
    return (moved.isEmpty ? [error] : moved).map { Finding(.job, $0.field, $0.message, hint: $0.hint) }
  }

  /// Removes the findings that only report that the templates of a job were not read.
  public mutating func removeUnresolved() {
    findings.removeAll { $0.rule.id == PushRule.job.id && $0.path.hasSuffix("template") }
  }

  private mutating func sort() {
    let order = { (finding: Finding) in (finding.position?.line ?? 0, finding.position?.column ?? 0) }
    findings.sort { order($0) < order($1) }
    findings = Self.bounded(findings)
  }

  private static func findRepeats(
    in value: JSONValue, path: String, _ lines: TextLines, _ findings: inout [Finding]
  ) {
    switch value.kind {
    case .object(let members):
      var seen: Set<String> = []
      for member in members where findings.count < 2 * maximumFindings {
        let place = (path.isEmpty ? "" : path + ".") + Excerpt.bare(member.name)
        if !seen.insert(member.name).inserted {
          findings.append(
            Finding(
              .duplicateKey, place, "appears twice in one object: readers may use either value",
              hint: "remove one of the two", position: lines.position(of: member.nameRange.lowerBound)))
        }
        findRepeats(in: member.value, path: place, lines, &findings)
      }
    case .array(let elements):
      for (index, element) in elements.enumerated() where findings.count < 2 * maximumFindings {
        findRepeats(in: element, path: "\(path)[\(index)]", lines, &findings)
      }
    case .string, .number, .bool, .null: break
    }
  }
}

extension PushRule {
  /// Rule for the fields of a job outside its payload, for all services.
  public static let job = PushRule(
    id: "job", severity: .error, summary: "A job has the documented fields and values.",
    source: "Carillon: deploy/guide/jobs.md")

  /// Rule for the JSON text of every file.
  public static let duplicateKey = PushRule(
    id: "duplicate-key", severity: .error, summary: "A key appears once in an object.", source: "RFC 8259, section 4")
}

extension JSONValue {
  /// Returns the offset of the value at a path: the offset of the member's name, or of the element of an array. If the
  /// path does not exist, returns the offset of the value that would contain it.
  fileprivate func offset(of path: some StringProtocol) -> Int {
    switch kind {
    case .object(let members):
      for member in members {
        let name = Excerpt.bare(member.name)
        guard path.hasPrefix(name) else { continue }
        let rest = path.dropFirst(name.count)
        if rest.isEmpty { return member.nameRange.lowerBound }
        guard rest.first == "." || rest.first == "[" else { continue }
        let inner = rest.first == "." ? rest.dropFirst() : rest
        let offset = member.value.offset(of: inner)
        return offset == member.value.range.lowerBound ? member.nameRange.lowerBound : offset
      }
    case .array(let elements):
      guard path.first == "[", let end = path.firstIndex(of: "]"),
        let index = Int(path[path.index(after: path.startIndex)..<end]), elements.indices.contains(index)
      else { break }
      let rest = path[path.index(after: end)...]
      return elements[index].offset(of: rest.first == "." ? rest.dropFirst() : rest)
    case .string, .number, .bool, .null: break
    }
    return range.lowerBound
  }
}
