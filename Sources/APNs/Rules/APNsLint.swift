internal import PushCore
internal import ServiceTools

/// Checks of a file by the rules of APNs. The file contains a payload, a template, a job, or old settings for APNs'
/// binary interface.
struct APNsLint {
  /// Result of the checks.
  private(set) var result: PushLint

  /// Checks a file.
  ///
  /// - Parameters:
  ///   - bytes: the file.
  ///   - resolved: the job in the file with the content of its templates in place of their names; `nil` if the
  ///     templates were not read.
  ///   - pushType: the push type of a payload; `nil` to infer it. A job contains its own push type.
  ///   - app: the app of a payload, by its name in `apps`. A job contains its own app.
  ///   - apps: the apps of the configuration.
  ///   - now: UNIX seconds.
  /// - Throws: an error if the file is not JSON and has no traces of the binary interface.
  init(
    _ bytes: [UInt8], resolved: [UInt8]? = nil, as pushType: PushType? = nil, app: String? = nil,
    apps: JobApps = .any([APNsService()]),
    now: Int? = nil
  ) throws(JSONSyntaxError) {
    let root: JSONValue
    do {
      root = try JSONValue(parsing: bytes, maximumDepth: LintFile.maximumNesting, allowsRepeats: true)
    } catch {
      guard let legacy = Self.legacy(bytes) else { throw error }
      result = legacy
      return
    }
    if Self.mayBeConfiguration(root), let legacy = Self.legacy(bytes) {
      result = legacy
      return
    }
    let service = APNsService()
    var file = try LintFile(root, bytes, resolved: resolved, for: service, isJob: Self.isJob(root), apps: apps)
    let traits = Self.traits(of: file.kind == .job ? Self.app(of: root) : app, apps)
    var drafts: [APNsDraft] = []
    var problems: [Finding] = []
    do throws(JobError) {
      try Self.setDates(in: &file, as: pushType, apps, now: now)
      drafts =
        file.kind == .payload
        ? [APNsDraft(payload: root, in: bytes, as: pushType ?? APNsDraft.inferred(root), app: traits)]
        : APNsDraft.all(job: file.content, in: file.contentBytes, app: traits)
    } catch {
      // An invalid date is reported once. The rules are not checked, because they would report the same date again.
      problems = [Finding(PushRule.job, error.field, error.message, hint: error.hint)]
    }
    result = PushLint(
      file, drafts, by: APNsInspector.self, for: service, as: pushType, apps: apps, now: now, problems: problems)
  }

  /// Returns the result for a file with settings of the binary interface; `nil` if the file has no traces of such
  /// settings.
  private static func legacy(_ bytes: [UInt8]) -> PushLint? {
    let findings = LegacyVocabulary.findings(in: bytes)
    guard !findings.isEmpty else { return nil }
    var lint = PushLint(kind: .legacy, title: "settings for the binary interface")
    lint.findings = PushLint.bounded(findings)
    return lint
  }

  // MARK: Kind of file

  /// Returns whether the JSON is a whole job. A JSON object with the member `aps` is a payload.
  static func isJob(_ root: JSONValue) -> Bool {
    guard case .object(let members) = root.kind else { return false }
    return members.value("aps") == nil && APNsService().isJob(root)
  }

  /// Returns whether the JSON is a payload: it has the member `aps`, which is not allowed in a job.
  static func isPayload(_ root: JSONValue) -> Bool {
    guard case .object(let members) = root.kind else { return false }
    return members.value("aps") != nil && !isJob(root)
  }

  /// Returns whether the JSON is neither a job nor a payload. In such a file, a word of the binary interface is a
  /// setting, because no push shows the texts of the file.
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

  /// Replaces the dates of a Live Activity in a job or a template.
  ///
  /// - Throws: an error in the dates.
  private static func setDates(
    in file: inout LintFile, as pushType: PushType?, _ apps: JobApps, now: Int?
  ) throws(JobError) {
    switch file.kind {
    case .job:
      guard let text = try CampaignJob.dated(file.content, file.contentBytes, apps, now: now) else { return }
      file.replaceContent(by: text)
    case .template:
      guard case .object(let members) = file.root.kind else { return }
      let content = JobContent(of: members, for: APNsService())
      guard pushType ?? content.payload.map(APNsDraft.inferred) == .liveactivity,
        let text = try ActivityDates(file.content, start: now ?? exampleStart).applied(to: file.contentBytes)
      else { return }
      file.replaceContent(by: text)
    case .payload, .legacy: return
    }
  }

  /// Start of a campaign for a check without the current time. Any value is suitable.
  private static let exampleStart = 1_800_000_000
}
