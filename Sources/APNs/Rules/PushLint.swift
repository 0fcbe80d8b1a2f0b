public import PushCore

/// Everything that can be said of a file with a payload, a job, or a set-up of old, before anything is sent.
public struct PushLint: Sendable {
  /// What the file is.
  public enum Kind: String, Sendable {
    case payload, job
    /// What many jobs say, for `template put`.
    case template
    /// Neither, but with traces of the binary interface.
    case legacy
  }

  /// What the payload comes to for one kind of push.
  public struct Size: Sendable, Equatable {
    /// A push type, or `broadcast`.
    public var name: String
    /// Bytes as sent, at worst.
    public var bytes: Int
    /// What APNs takes.
    public var limit: Int
  }

  /// What the file is.
  public var kind: Kind
  /// The push type it was judged as; `nil` for ``Kind/legacy``.
  public var pushType: PushType?
  /// Whether that type was only inferred from the keys.
  public var isInferred = false
  /// The size for the type, and, when that was only inferred, for every other limit there is.
  public var sizes: [Size] = []
  /// What a job tells different users; `nil` when all are told the same.
  public var variants: CampaignVariants?
  /// The findings in the order of the text; at most ``mostFindings``.
  public var findings: [Finding] = []
  /// The most findings that are reported about one file. Errors come before warnings.
  public static let mostFindings = PushInspector.mostFindings

  private init(kind: Kind) { self.kind = kind }

  /// How deep a file may be nested.
  private static let maximumNesting = CampaignJob.maximumNesting

  /// Looks at a file.
  ///
  /// - Parameters:
  ///   - bytes: its contents.
  ///   - resolved: a job with the content of the templates that it names; `nil` where they were not looked up.
  ///   - pushType: what a payload is to be sent as; `nil` infers it. A job says so itself.
  ///   - app: what a payload is to be sent with, by its name in `apps`. A job says so itself.
  ///   - apps: those of the configuration, where there is one.
  ///   - now: UNIX seconds.
  /// - Throws: when it is no JSON, and has no traces of the binary interface either.
  public init(
    _ bytes: [UInt8], resolved: [UInt8]? = nil, as pushType: PushType? = nil, app: String? = nil,
    apps: JobApps = .any(APNsService()),
    now: Int? = nil
  ) throws(JSONSyntaxError) {
    let root: JSONValue
    do {
      root = try JSONValue(parsing: bytes, maximumDepth: Self.maximumNesting, allowsRepeats: true)
    } catch {
      let legacy = LegacyVocabulary.findings(in: bytes)
      guard !legacy.isEmpty else { throw error }
      self.init(kind: .legacy)
      findings = PushInspector.bounded(legacy)
      return
    }
    if Self.mayBeConfiguration(root) {
      let legacy = LegacyVocabulary.findings(in: bytes)
      if !legacy.isEmpty {
        self.init(kind: .legacy)
        findings = PushInspector.bounded(legacy)
        return
      }
    }
    self.init(kind: Self.isJob(root) ? .job : Self.isTemplate(root) ? .template : .payload)
    let traits = Self.traits(of: kind == .job ? Self.app(of: root) : app, apps)
    // Without repeats: its text was made of a job that was read.
    var whole = root
    if let resolved { whole = try JSONValue(parsing: resolved, maximumDepth: Self.maximumNesting) }
    let job = resolved ?? bytes
    let (judged, judgedBytes, undated) = dated(whole, job, as: pushType, apps, now: now)
    var drafts =
      kind == .payload
      ? [Self.draft(root, in: bytes, as: pushType, app: traits)]
      : PushDraft.all(job: judged, in: judgedBytes, app: traits)
    if kind == .template {
      let type = pushType ?? drafts.first.map { Self.inferred($0.payload) } ?? .alert
      for index in drafts.indices { drafts[index].become(type) }
    }
    switch kind {
    case .job: (findings, variants) = Self.jobFindings(judged, in: judgedBytes, of: job, apps, now: now)
    case .template: findings = Self.templateFindings(bytes)
    case .payload, .legacy: break
    }
    if let undated {
      findings.append(Finding(.activityDates, undated.field, undated.message, hint: undated.hint))
      // That it is no number either says nothing new.
      drafts = []
    }
    if let draft = drafts.first {
      findings += PushInspector.findings(in: drafts, now: now)
      self.pushType = draft.pushType
      isInferred = kind != .job && pushType == nil
      sizes = Self.sizes(of: draft, all: isInferred)
      // Of several languages or variants the largest: what fits in that fits in all.
      if let most = drafts.map(\.size).max() { for index in sizes.indices { sizes[index].bytes = most } }
    }
    let lines = TextLines(bytes)
    for index in findings.indices {
      findings[index].position = lines.position(of: root.offset(of: findings[index].path))
    }
    Self.findRepeats(in: root, path: "", lines, &findings)
    let order = { (finding: Finding) in (finding.position?.line ?? 0, finding.position?.column ?? 0) }
    findings.sort { order($0) < order($1) }
    findings = PushInspector.bounded(findings)
  }

  /// Adds the store's findings about a job, each at its place in the text.
  ///
  /// - Parameters:
  ///   - more: the findings.
  ///   - bytes: the text that was looked at.
  public mutating func add(_ more: [Finding], in bytes: [UInt8]) {
    let root = try? JSONValue(parsing: bytes, maximumDepth: Self.maximumNesting, allowsRepeats: true)
    let lines = TextLines(bytes)
    findings += more.map { finding in
      var finding = finding
      finding.position = root.map { lines.position(of: $0.offset(of: finding.path)) }
      return finding
    }
    let order = { (finding: Finding) in (finding.position?.line ?? 0, finding.position?.column ?? 0) }
    findings.sort { order($0) < order($1) }
    findings = PushInspector.bounded(findings)
  }

  /// Removes the findings of a job that say only that its templates were not looked up.
  public mutating func removeUnresolved() {
    findings.removeAll { $0.rule.id == APNsRule.job.rawValue && $0.path.hasSuffix("template") }
  }

  /// The findings of one severity.
  public func findings(_ severity: PushRule.Severity) -> [Finding] {
    findings.filter { $0.rule.severity == severity }
  }

  // MARK: What it is

  /// Whether it is a whole job: a payload may have members of any name, but hardly all of these.
  public static func isJob(_ root: JSONValue) -> Bool {
    guard case .object(let members) = root.kind else { return false }
    let names = Set(members.map(\.name))
    return !names.isDisjoint(with: ["payload", "template", "variants"]) && !names.contains("aps")
      && !names.isDisjoint(with: ["app", "audience"])
  }

  /// Whether it is a template: a payload may have a member of its own that is called payload, but hardly nothing besides.
  static func isTemplate(_ root: JSONValue) -> Bool {
    guard case .object(let members) = root.kind, case .object? = members.value("payload")?.kind else { return false }
    return members.allSatisfy { ["payload", "localized", "trim", "uniqueKey", "campaignKey"].contains($0.name) }
  }

  /// Whether it is a payload alone, by the one member that no job has.
  public static func isPayload(_ root: JSONValue) -> Bool {
    guard case .object(let members) = root.kind else { return false }
    return members.value("aps") != nil && !isJob(root)
  }

  /// JSON that is neither a job nor looks like a payload: there, words of the binary interface are no text for people.
  private static func mayBeConfiguration(_ root: JSONValue) -> Bool {
    !isPayload(root) && !isJob(root)
  }

  /// What is known of an app, if it is one of APNs'.
  private static func traits(of app: String?, _ apps: JobApps) -> AppTraits? {
    guard let app, case .known(let services) = apps else { return nil }
    return (services[app] as? APNsService)?.app
  }

  private static func app(of job: JSONValue) -> String? {
    guard case .object(let members) = job.kind, case .string(let app)? = members.value("app")?.kind else { return nil }
    return app
  }

  /// A job or a template with the dates of a Live Activity written out, its text, and what is wrong with these dates.
  private func dated(
    _ root: JSONValue, _ bytes: [UInt8], as pushType: PushType?, _ apps: JobApps, now: Int?
  ) -> (JSONValue, [UInt8], JobError?) {
    do throws(JobError) {
      var text: [UInt8]?
      switch kind {
      case .job: text = try CampaignJob.dated(root, bytes, apps, now: now)
      case .template:
        guard case .object(let members) = root.kind, let payload = members.value("payload"),
          pushType ?? Self.inferred(payload) == .liveactivity
        else { break }
        text = try ActivityDates(root, start: now ?? Self.someStart).applied(to: bytes)
      case .payload, .legacy: break
      }
      guard let text, let dated = try? JSONValue(parsing: text, maximumDepth: Self.maximumNesting) else {
        return (root, bytes, nil)
      }
      return (dated, text, nil)
    } catch {
      return (root, bytes, error)
    }
  }

  /// In the place of the present, where it is not known.
  private static let someStart = 1_800_000_000

  private static func draft(
    _ root: JSONValue, in bytes: [UInt8], as pushType: PushType?, app: AppTraits?
  ) -> PushDraft {
    PushDraft(
      pushType: pushType ?? inferred(root), app: app, payload: root, path: "",
      size: JSONValue.minified(bytes[root.range]).count)
  }

  /// What a payload is probably sent as.
  static func inferred(_ root: JSONValue) -> PushType {
    guard case .object(let members) = root.kind else { return .alert }
    guard case .object(let aps)? = members.value("aps")?.kind else {
      return members.value("mdm") == nil ? .alert : .mdm
    }
    if aps.value("content-changed") != nil { return .widgets }
    if aps.value("content-state") != nil || aps.value("event") != nil { return .liveactivity }
    let isVisible = ["alert", "badge", "sound"].contains { aps.value($0) != nil }
    return aps.value("content-available") != nil && !isVisible ? .background : .alert
  }

  private static func sizes(of draft: PushDraft, all: Bool) -> [Size] {
    let own = Size(
      name: draft.destination == .channel ? "broadcast" : draft.pushType.rawValue, bytes: draft.size,
      limit: draft.maximumSize)
    guard all else { return [own] }
    return PushType.allCases.map { Size(name: $0.rawValue, bytes: draft.size, limit: $0.maximumPayload) }
      + [Size(name: "broadcast", bytes: draft.size, limit: PushDraft.maximumBroadcast)]
  }

  // MARK: More findings

  private static func jobFindings(
    _ root: JSONValue, in bytes: [UInt8], of job: [UInt8], _ apps: JobApps, now: Int?
  ) -> ([Finding], CampaignVariants?) {
    do {
      try CampaignJob.checkSize(job)
      let (campaign, service) = try CampaignJob.read(root, in: bytes, apps)
      try CampaignJob.checkParts(of: campaign, job, apps, service, now: now)
      return (
        PushInspector.repeatedVariants(root, bytes) + CampaignJob.companionFindings(of: campaign, service),
        campaign.message.variants
      )
    } catch {
      return ([Finding(.job, error.field, error.message, hint: error.hint)], nil)
    }
  }

  private static func templateFindings(_ bytes: [UInt8]) -> [Finding] {
    do {
      _ = try JobTemplate.content(bytes)
      return []
    } catch {
      return [Finding(.job, error.field, error.message, hint: error.hint)]
    }
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

extension JSONValue {
  /// Where the place of this path stands: at its name, or at its value in an array. What doesn't exist stands where it
  /// would belong.
  func offset(of path: some StringProtocol) -> Int {
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
