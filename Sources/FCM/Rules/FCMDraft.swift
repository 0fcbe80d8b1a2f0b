internal import PushCore
internal import ServiceTools

/// A push of a job or of a payload file in its final form, as the rules for FCM check it (``FCMInspector``).
struct FCMDraft: LintDraft {
  private(set) var pushType: FCMPushType
  /// Priority as in a job: 10 or 5.
  private(set) var priority: Int
  private(set) var expiration = Expiration.unset
  private var collapseID: String?
  /// Fields of the job that add a member to the data (`uniqueKey`, `campaignKey`), each with the name of that member.
  private(set) var keys: [(field: String, name: String)] = []
  /// The message without its target.
  private(set) var payload: DraftPayload
  /// Path of the priority in the job, for findings.
  private(set) var priorityPath = "priority"
  /// Text that contains the payload: the file with the payload, or the job.
  let text: [UInt8]

  /// Creates the push of a file that contains only a payload.
  init(payload: JSONValue, in bytes: [UInt8], as type: FCMPushType) {
    (pushType, priority) = (type, type.defaultPriority)
    self.payload = DraftPayload(payload, at: "", in: bytes)
    text = bytes
    omitUncounted()
  }

  private init(_ fields: JobFields, _ content: JobContent, _ payload: DraftPayload, in bytes: [UInt8]) {
    pushType = (try? FCMService.pushType(of: content.own, content.message)) ?? .alert
    priority = FCMService.priority(of: pushType, content.urgency)
    priorityPath = "urgency"
    expiration = (try? fields.expiration(sendAt: nil)) ?? .unset
    collapseID = try? fields.string("collapseId")
    for field in ["uniqueKey", "campaignKey"] {
      if let name = try? fields.string(field) { keys.append((field, name)) }
    }
    self.payload = payload
    text = bytes
    omitUncounted()
  }

  /// Returns the pushes of a job: first the job's own content, then one push for each language and variant that changes
  /// it. Empty if the job has no content.
  static func all(job root: JSONValue, in bytes: [UInt8], _ service: FCMService) -> [FCMDraft] {
    all(job: root, in: bytes, for: service) { FCMDraft($0, $1, $2, in: bytes) }
  }

  /// Subtracts the bytes that FCM does not count from all sizes of the payload. Values of placeholders do not change
  /// the number of these bytes, so it is calculated once, with the fallback of each placeholder.
  private mutating func omitUncounted() {
    let skeleton = payload.form?.skeleton
    let root = skeleton.flatMap { try? JSONValue(parsing: $0, maximumDepth: LintFile.maximumNesting) } ?? payload.value
    guard case .object(let members) = root.kind else { return }
    // FCM counts only one of the members that Carillon adds: the tag. The default tag has 32 digits.
    let additions = MessageAdditions(
      priority: "", expiration: .standard, collapseKey: nil, tag: collapseID ?? String(repeating: "0", count: 32),
      analyticsLabel: "")
    payload.omit((skeleton?.count ?? payload.size) - additions.counted(members))
  }

  mutating func setPushType(_ type: FCMPushType) { (pushType, priority) = (type, type.defaultPriority) }

  var maximumSize: Int { MessageSize.maximum }

  func sizes(all: Bool) -> [PushLint.Size] {
    [PushLint.Size(name: pushType.rawValue, bytes: payload.size, limit: maximumSize)]
  }

  /// Returns the push type that fits a payload.
  static func inferred(_ payload: JSONValue) -> FCMPushType {
    guard case .object(let members) = payload.kind, !members.isEmpty else { return .alert }
    return MessageAdditions.showsNotification(members) ? .alert : .background
  }
}
