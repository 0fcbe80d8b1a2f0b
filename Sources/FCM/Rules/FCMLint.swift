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
  ///   - resolved: the job in the file with the content of its templates in place of their names; `nil` if the
  ///     templates were not read.
  ///   - pushType: the push type of a payload; `nil` to infer it. A job contains its own push type.
  ///   - apps: the apps of the configuration.
  ///   - now: UNIX seconds.
  /// - Throws: an error if the file is not JSON.
  init(
    _ bytes: [UInt8], resolved: [UInt8]?, as pushType: FCMPushType?, apps: JobApps, now: Int?
  ) throws(JSONSyntaxError) {
    let root = try JSONValue(parsing: bytes, maximumDepth: LintFile.maximumNesting, allowsRepeats: true)
    let service = FCMService()
    let file = try LintFile(root, bytes, resolved: resolved, for: service, isJob: service.isJob(root), apps: apps)
    let drafts =
      file.kind == .payload
      ? [FCMDraft(payload: root, in: bytes, as: pushType ?? FCMDraft.inferred(root))]
      : FCMDraft.all(job: file.content, in: file.contentBytes, service)
    result = PushLint(file, drafts, by: FCMInspector.self, for: service, as: pushType, apps: apps, now: now)
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
