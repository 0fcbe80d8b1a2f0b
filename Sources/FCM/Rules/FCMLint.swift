internal import PushCore
internal import ServiceTools

/// Checks of a file by the rules of FCM. The file contains a payload, a template or a job.
struct FCMLint {
  /// Result of the checks.
  private(set) var result: PushLint

  /// Checks a file.
  ///
  /// - Parameters:
  ///   - bytes: the file.
  ///   - resolved: a job with the content of the templates that it names; `nil` if the templates were not read.
  ///   - pushType: the push type of a payload; `nil` to infer it. A job contains its own push type.
  ///   - apps: the apps of the configuration.
  ///   - now: UNIX seconds.
  /// - Throws: if the file is not JSON.
  init(
    _ bytes: [UInt8], resolved: [UInt8]?, as pushType: FCMPushType?, apps: JobApps, now: Int?
  ) throws(JSONSyntaxError) {
    let root = try JSONValue(parsing: bytes, maximumDepth: CampaignJob.maximumNesting, allowsRepeats: true)
    let isTemplate = FCMService().isTemplate(root, services: apps.allServices.map(\.name))
    let kind: PushLint.Kind = FCMService().isJob(root) ? .job : isTemplate ? .template : .payload
    result = PushLint(kind: kind)
    let job = resolved ?? bytes
    // Duplicate members are not possible here: the text was generated from a parsed job.
    let whole = resolved == nil ? root : try JSONValue(parsing: job, maximumDepth: CampaignJob.maximumNesting)
    var drafts =
      kind == .payload
      ? [FCMDraft(payload: root, in: bytes, as: pushType)] : FCMDraft.all(job: whole, in: job, FCMService())
    switch kind {
    case .job: checkJob(whole, job, apps, now: now)
    case .template:
      if !FCMService().namesPushType(root) {
        let type = pushType ?? drafts.first.map { FCMDraft.inferred($0.payload) } ?? .alert
        for index in drafts.indices {
          (drafts[index].pushType, drafts[index].priority) = (type, type.defaultPriority)
        }
      }
      do throws(JobError) {
        _ = try JobTemplate.content(bytes, for: apps.allServices)
      } catch {
        result.findings += PushLint.findings(for: error, in: root, apps)
      }
    case .payload, .legacy: break
    }
    if let draft = drafts.first {
      result.findings += FCMInspector.findings(in: drafts, now: now)
      result.pushType = draft.pushType.rawValue
      result.isInferred = kind != .job && pushType == nil && !FCMService().namesPushType(root)
      let size = drafts.map(\.sentSize).max() ?? 0
      result.sizes = [PushLint.Size(name: draft.pushType.rawValue, bytes: size, limit: MessageSize.maximum)]
    }
    result.place(in: root, bytes)
  }

  private mutating func checkJob(_ root: JSONValue, _ bytes: [UInt8], _ apps: JobApps, now: Int?) {
    do throws(JobError) {
      try CampaignJob.checkSize(bytes)
      let (campaign, service) = try CampaignJob.read(root, in: bytes, apps, leg: FCMService().name)
      try CampaignJob.checkParts(of: campaign, bytes, apps, service, now: now)
      result.findings += FCMInspector.repeatedVariants(root, bytes)
      result.variants = campaign.message.variants
    } catch {
      result.findings += PushLint.findings(for: error, in: root, apps)
    }
  }

  // MARK: Kind of file

  /// Returns whether the JSON is a message of FCM: it has a member for Android, or only members of a message.
  static func isPayload(_ root: JSONValue) -> Bool {
    guard case .object(let members) = root.kind, !members.isEmpty, !FCMService().isJob(root),
      members.value("aps") == nil
    else {
      return false
    }
    return members.hasField("android") || members.hasField("android_v2")
      || members.allSatisfy { MessageSchema.message.field($0.name) != nil }
  }
}
