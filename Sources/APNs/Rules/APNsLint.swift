internal import PushCore
internal import ServiceTools

/// Checks of a file by the rules of APNs. The file contains a payload, a template, a job, or old settings for APNs'
/// binary interface.
struct APNsLint {
  /// Result of the checks.
  private(set) var result: PushLint

  /// The deepest allowed nesting of a file.
  private static let maximumNesting = CampaignJob.maximumNesting

  /// Checks a file.
  ///
  /// - Parameters:
  ///   - bytes: the file.
  ///   - resolved: a job with the content of the templates that it names; `nil` if the templates were not read.
  ///   - pushType: the push type of a payload; `nil` to infer it. A job contains its own push type.
  ///   - app: the app of a payload, by its name in `apps`. A job contains its own app.
  ///   - apps: the apps of the configuration.
  ///   - now: UNIX seconds.
  /// - Throws: if the file is not JSON and has no traces of the binary interface.
  init(
    _ bytes: [UInt8], resolved: [UInt8]? = nil, as pushType: PushType? = nil, app: String? = nil,
    apps: JobApps = .any([APNsService()]),
    now: Int? = nil
  ) throws(JSONSyntaxError) {
    let root: JSONValue
    do {
      root = try JSONValue(parsing: bytes, maximumDepth: Self.maximumNesting, allowsRepeats: true)
    } catch {
      guard let legacy = Self.legacy(bytes) else { throw error }
      result = legacy
      return
    }
    if Self.mayBeConfiguration(root), let legacy = Self.legacy(bytes) {
      result = legacy
      return
    }
    let isTemplate = APNsService().isTemplate(root, services: apps.allServices.map(\.name))
    let kind: PushLint.Kind = Self.isJob(root) ? .job : isTemplate ? .template : .payload
    result = PushLint(kind: kind)
    let traits = Self.traits(of: kind == .job ? Self.app(of: root) : app, apps)
    // Duplicate members are not possible here: the text was generated from a parsed job.
    var whole = root
    if let resolved { whole = try JSONValue(parsing: resolved, maximumDepth: Self.maximumNesting) }
    let job = resolved ?? bytes
    let (judged, judgedBytes, undated) = Self.dated(whole, job, kind, as: pushType, apps, now: now)
    var drafts =
      kind == .payload
      ? [Self.draft(root, in: bytes, as: pushType, app: traits)]
      : PushDraft.all(job: judged, in: judgedBytes, app: traits)
    if kind == .template, !APNsService().namesPushType(root) {
      let type = pushType ?? drafts.first.map { Self.inferred($0.payload) } ?? .alert
      for index in drafts.indices { drafts[index].become(type) }
    }
    switch kind {
    case .job:
      (result.findings, result.variants) = Self.jobFindings(judged, in: judgedBytes, of: job, apps, now: now)
    case .template: result.findings = Self.templateFindings(root, bytes, apps)
    case .payload, .legacy: break
    }
    if let undated {
      result.findings.append(Finding(PushRule.job, undated.field, undated.message, hint: undated.hint))
      // The rules are not checked, because they would only report again that the date is not a number.
      drafts = []
    }
    if let draft = drafts.first {
      result.findings += PushInspector.findings(in: drafts, now: now)
      result.pushType = draft.pushType.rawValue
      result.isInferred = kind != .job && pushType == nil && !APNsService().namesPushType(root)
      result.sizes = Self.sizes(of: draft, all: result.isInferred)
      // The size is that of the largest language or variant. If it fits, all fit.
      if let most = drafts.map(\.sentSize).max() {
        for index in result.sizes.indices { result.sizes[index].bytes = most }
      }
    }
    result.place(in: root, bytes)
  }

  /// Returns the findings for settings of the binary interface; `nil` if the file has no traces of such settings.
  private static func legacy(_ bytes: [UInt8]) -> PushLint? {
    let findings = LegacyVocabulary.findings(in: bytes)
    guard !findings.isEmpty else { return nil }
    var lint = PushLint(kind: .legacy, title: "a set-up for the binary interface")
    lint.findings = PushLint.bounded(findings)
    return lint
  }

  // MARK: Kind of file

  /// Returns whether the JSON is a whole job. A JSON with `aps` is a payload.
  static func isJob(_ root: JSONValue) -> Bool {
    guard case .object(let members) = root.kind else { return false }
    return members.value("aps") == nil && APNsService().isJob(root)
  }

  /// Returns whether the JSON is a payload: it has the member `aps`, which is not allowed in a job.
  static func isPayload(_ root: JSONValue) -> Bool {
    guard case .object(let members) = root.kind else { return false }
    return members.value("aps") != nil && !isJob(root)
  }

  /// Returns whether the JSON is neither a job nor a payload. In such a file, words of the binary interface are not
  /// part of a text that a push shows.
  private static func mayBeConfiguration(_ root: JSONValue) -> Bool {
    !isPayload(root) && !isJob(root)
  }

  /// Returns the known facts about an app, if it belongs to APNs.
  private static func traits(of app: String?, _ apps: JobApps) -> AppTraits? {
    guard let app, case .known(let services) = apps else { return nil }
    return services[app]?.lazy.compactMap { $0 as? APNsService }.first?.app
  }

  private static func app(of job: JSONValue) -> String? {
    guard case .object(let members) = job.kind, case .string(let app)? = members.value("app")?.kind else { return nil }
    return app
  }

  /// Replaces the dates of a Live Activity in a job or a template. Returns the result, its text, and the error in the
  /// dates; `nil` for no error.
  private static func dated(
    _ root: JSONValue, _ bytes: [UInt8], _ kind: PushLint.Kind, as pushType: PushType?, _ apps: JobApps, now: Int?
  ) -> (JSONValue, [UInt8], JobError?) {
    do throws(JobError) {
      var text: [UInt8]?
      switch kind {
      case .job: text = try CampaignJob.dated(root, bytes, apps, now: now)
      case .template:
        guard case .object(let members) = root.kind else { break }
        let content = JobContent(of: members, for: APNsService())
        guard pushType ?? content.payload.map(inferred) == .liveactivity else { break }
        text = try ActivityDates(root, start: now ?? someStart).applied(to: bytes)
      case .payload, .legacy: break
      }
      guard let text, let dated = try? JSONValue(parsing: text, maximumDepth: maximumNesting) else {
        return (root, bytes, nil)
      }
      return (dated, text, nil)
    } catch {
      return (root, bytes, error)
    }
  }

  /// Start of a campaign for a check without the current time. Any value is suitable.
  private static let someStart = 1_800_000_000

  private static func draft(
    _ root: JSONValue, in bytes: [UInt8], as pushType: PushType?, app: AppTraits?
  ) -> PushDraft {
    PushDraft(
      pushType: pushType ?? inferred(root), app: app, payload: root, path: "",
      size: JSONValue.minified(bytes[root.range]).count)
  }

  /// Returns the probable push type of a payload.
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

  private static func sizes(of draft: PushDraft, all: Bool) -> [PushLint.Size] {
    let own = PushLint.Size(
      name: draft.destination == .channel ? "broadcast" : draft.pushType.rawValue, bytes: draft.size,
      limit: draft.maximumSize)
    guard all else { return [own] }
    return PushType.allCases.map { PushLint.Size(name: $0.rawValue, bytes: draft.size, limit: $0.maximumPayload) }
      + [PushLint.Size(name: "broadcast", bytes: draft.size, limit: PushDraft.maximumBroadcast)]
  }

  // MARK: More findings

  private static func jobFindings(
    _ root: JSONValue, in bytes: [UInt8], of job: [UInt8], _ apps: JobApps, now: Int?
  ) -> ([Finding], CampaignVariants?) {
    do {
      try CampaignJob.checkSize(job)
      let (campaign, service) = try CampaignJob.read(root, in: bytes, apps, leg: APNsService().name)
      try CampaignJob.checkParts(of: campaign, job, apps, service, now: now)
      return (
        PushInspector.repeatedVariants(root, bytes) + CampaignJob.companionFindings(of: campaign, service),
        campaign.message.variants
      )
    } catch {
      return (PushLint.findings(for: error, in: root, apps), nil)
    }
  }

  private static func templateFindings(_ root: JSONValue, _ bytes: [UInt8], _ apps: JobApps) -> [Finding] {
    do {
      _ = try JobTemplate.content(bytes, for: apps.allServices)
      return []
    } catch {
      return PushLint.findings(for: error, in: root, apps)
    }
  }
}
