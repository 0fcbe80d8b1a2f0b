public import PushCore

/// The result of the lint of a file: a payload, a job, a template, or a set-up of the past.
public struct PushLint: Sendable {
  /// What the file is.
  public enum Kind: String, Sendable {
    case payload, job
    /// What many jobs say, for `template put`.
    case template
    /// None of these, but with traces of an interface that the service has ended.
    case legacy
  }

  /// The size of the payload for one kind of push.
  public struct Size: Sendable, Equatable {
    /// A push type, or another kind of push that has a limit of its own.
    public var name: String
    /// Bytes as sent, at worst.
    public var bytes: Int
    /// The most bytes that the service takes.
    public var limit: Int

    /// Memberwise.
    public init(name: String, bytes: Int, limit: Int) { (self.name, self.bytes, self.limit) = (name, bytes, limit) }
  }

  /// What the file is.
  public let kind: Kind
  /// The name of the kind, for people.
  public let title: String
  /// The push type that the file was checked as; `nil` for ``Kind/legacy``, and for a service without push types.
  public var pushType: String?
  /// Whether the push type was inferred from the keys.
  public var isInferred = false
  /// The size for the push type and, if that was inferred, for every other kind of push.
  public var sizes: [Size] = []
  /// The variants of a job; `nil` if all users get the same.
  public var variants: CampaignVariants?
  /// The findings in the order of the text; at most ``mostFindings``.
  public var findings: [Finding] = []

  /// The most findings that are reported about one file.
  public static let mostFindings = 100

  /// - Parameter title: the name of the kind, for people; `nil` for its own.
  public init(kind: Kind, title: String? = nil) {
    self.kind = kind
    self.title = title ?? kind.rawValue
  }

  /// Returns at most ``mostFindings`` findings in their order. Errors come before warnings when there are more, because an
  /// error decides whether a job is accepted.
  public static func bounded(_ findings: [Finding]) -> [Finding] {
    guard findings.count > mostFindings else { return findings }
    var errors = min(mostFindings, findings.count { $0.rule.severity == .error })
    var others = mostFindings - errors
    return findings.filter { finding in
      let isError = finding.rule.severity == .error
      if isError { errors -= 1 } else { others -= 1 }
      return isError ? errors >= 0 : others >= 0
    }
  }

  /// The findings of one severity.
  public func findings(_ severity: PushRule.Severity) -> [Finding] {
    findings.filter { $0.rule.severity == severity }
  }

  /// Puts the findings at their places in the text, adds keys that stand in an object twice, and sorts.
  ///
  /// - Parameters:
  ///   - root: the file.
  ///   - bytes: its text.
  public mutating func place(in root: JSONValue, _ bytes: [UInt8]) {
    let lines = TextLines(bytes)
    for index in findings.indices {
      findings[index].position = lines.position(of: root.offset(of: findings[index].path))
    }
    Self.findRepeats(in: root, path: "", lines, &findings)
    sort()
  }

  /// Adds the store's findings about a job, each at its place in the text.
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

  /// Removes the findings of a job that say only that its templates were not looked up.
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
      for member in members where findings.count < 2 * mostFindings {
        let place = (path.isEmpty ? "" : path + ".") + Excerpt.bare(member.name)
        if !seen.insert(member.name).inserted {
          findings.append(
            Finding(
              .duplicateKey, place, "stands in the object twice: which of them counts is up to chance",
              hint: "leave one of them", position: lines.position(of: member.nameRange.lowerBound)))
        }
        findRepeats(in: member.value, path: place, lines, &findings)
      }
    case .array(let elements):
      for (index, element) in elements.enumerated() where findings.count < 2 * mostFindings {
        findRepeats(in: element, path: "\(path)[\(index)]", lines, &findings)
      }
    case .string, .number, .bool, .null: break
    }
  }
}

extension PushRule {
  /// The rule for the fields of a job around its payload, for jobs of every service.
  public static let job = PushRule(
    id: "job", severity: .error, summary: "A job is as the contract has it.", source: "Carillon: deploy/guide/jobs.md")

  /// The rule for the text of any file.
  public static let duplicateKey = PushRule(
    id: "duplicate-key", severity: .error, summary: "A key stands once in an object.", source: "RFC 8259, section 4")
}

extension JSONValue {
  /// The offset of the value at a path: of its name, or of the value in an array. A path that does not exist has the offset
  /// of the value that would hold it.
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
