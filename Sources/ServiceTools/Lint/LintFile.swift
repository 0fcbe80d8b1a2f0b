public import PushCore

/// A file that `lint` checks, and the job or template whose pushes are checked.
public struct LintFile: Sendable {
  /// The file as JSON.
  public let root: JSONValue
  /// The text of the file.
  public let bytes: [UInt8]
  /// Kind of the file.
  public let kind: PushLint.Kind
  /// The text of the file. In a job, the content of templates replaces the references to them.
  public let resolved: [UInt8]
  /// Job or template whose pushes are checked.
  public private(set) var content: JSONValue
  /// The text of ``content``.
  public private(set) var contentBytes: [UInt8]

  /// Maximum nesting of the file.
  public static let maximumNesting = CampaignJob.maximumNesting

  /// - Parameters:
  ///   - root: the file as JSON.
  ///   - bytes: the text of the file.
  ///   - resolved: the job in the file with the content of its templates in place of their names; `nil` if the
  ///     templates were not read.
  ///   - service: the service whose rules are checked.
  ///   - isJob: whether the file is a job.
  ///   - apps: the apps of the configuration.
  public init(
    _ root: JSONValue, _ bytes: [UInt8], resolved: [UInt8]?, for service: any PushService, isJob: Bool, apps: JobApps
  ) throws(JSONSyntaxError) {
    (self.root, self.bytes, self.resolved) = (root, bytes, resolved ?? bytes)
    let isTemplate = service.isTemplate(root, services: apps.allServices.map(\.name))
    kind = isJob ? .job : isTemplate ? .template : .payload
    contentBytes = self.resolved
    // The text was generated from a parsed job, so it has no duplicate members.
    content =
      try resolved.map { text throws(JSONSyntaxError) in
        try JSONValue(parsing: text, maximumDepth: Self.maximumNesting)
      } ?? root
  }

  /// Replaces ``content`` by a text. A text that is not JSON has no effect.
  public mutating func replaceContent(by text: [UInt8]) {
    guard let value = try? JSONValue(parsing: text, maximumDepth: Self.maximumNesting) else { return }
    (content, contentBytes) = (value, text)
  }
}

extension PushLint {
  /// Checks a payload, a template or a job.
  ///
  /// - Parameters:
  ///   - file: the file.
  ///   - drafts: the pushes of the file; empty if they can't be checked.
  ///   - inspector: the checks of the service.
  ///   - service: the service whose rules are checked.
  ///   - pushType: the push type of a payload; `nil` to infer it. A job contains its own push type.
  ///   - apps: the apps of the configuration.
  ///   - now: UNIX seconds; `nil` omits rules that depend on the time.
  ///   - problems: further findings, which are added to the result.
  public init<Inspector: PushInspector>(
    _ file: LintFile, _ drafts: [Inspector.Draft], by inspector: Inspector.Type, for service: any PushService,
    as pushType: Inspector.Draft.PushType?, apps: JobApps, now: Int?, problems: [Finding] = []
  ) {
    self.init(kind: file.kind)
    let namesType = service.namesPushType(file.root)
    var drafts = drafts
    if kind == .template, !namesType {
      let type = pushType ?? drafts.first.map { Inspector.Draft.inferred($0.payload.value) }
      for index in drafts.indices { if let type { drafts[index].setPushType(type) } }
    }
    do throws(JobError) {
      if kind == .job { try checkJob(file, by: inspector, for: service, apps, now: now) }
      if kind == .template { _ = try JobTemplate.content(file.bytes, for: apps.allServices) }
    } catch {
      findings = Self.findings(for: error, in: kind == .job ? file.content : file.root, apps)
    }
    findings += problems
    if let draft = drafts.first {
      findings += inspector.findings(in: drafts, now: now)
      self.pushType = draft.pushType.rawValue
      isInferred = kind != .job && pushType == nil && !namesType
      sizes = draft.sizes(all: isInferred)
      // The size of the largest language or variant is reported: if this one fits, all fit.
      if let most = drafts.map(\.sentSize).max() {
        for index in sizes.indices { sizes[index].bytes = most }
      }
    }
    setPositions(in: file.root, file.bytes)
  }

  /// Checks the fields of a job outside its payload.
  private mutating func checkJob<Inspector: PushInspector>(
    _ file: LintFile, by inspector: Inspector.Type, for service: any PushService, _ apps: JobApps, now: Int?
  ) throws(JobError) {
    try CampaignJob.checkSize(file.resolved)
    let (campaign, service) = try CampaignJob.read(file.content, in: file.contentBytes, apps, leg: service.name)
    try CampaignJob.checkParts(of: campaign, file.resolved, apps, service, now: now)
    findings =
      inspector.repeatedVariants(file.content, file.contentBytes, for: service)
      + CampaignJob.companionFindings(of: campaign, service)
    variants = campaign.message.variants
  }
}
