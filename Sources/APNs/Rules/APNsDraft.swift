internal import PushCore
internal import ServiceTools

/// A push of a job or of a payload file in its final form, as the rules for APNs check it (``APNsInspector``).
struct APNsDraft: LintDraft {
  /// `apns-push-type`.
  private(set) var pushType: PushType
  /// `apns-priority`.
  private(set) var priority: Int
  /// `apns-expiration`.
  private(set) var expiration: Expiration
  /// `apns-collapse-id`.
  private(set) var collapseID: String?
  /// Destination of the push.
  private(set) var destination = PushDestination.devices
  /// The app; `nil` if it is not known.
  let app: AppTraits?
  let payload: DraftPayload
  /// Path of the priority in the job, for findings.
  private(set) var priorityPath = "priority"

  /// The largest payload of a broadcast in bytes. Source: Apple, "Sending broadcast push notification requests to
  /// APNs".
  static let maximumBroadcast = 5120

  /// Creates the push of a file that contains only a payload.
  init(payload: JSONValue, in bytes: [UInt8], as type: PushType, app: AppTraits?) {
    (pushType, priority) = (type, type.defaultPriority)
    expiration = destination.defaultExpiration(of: type)
    self.app = app
    self.payload = DraftPayload(payload, at: "", in: bytes)
  }

  private init(
    _ fields: JobFields, _ content: JobContent, to destination: PushDestination, app: AppTraits?,
    _ payload: DraftPayload
  ) {
    pushType = (try? APNsService.pushType(of: content.own, content.message)) ?? .alert
    priority = (try? APNsService.priority(of: content.own, pushType, content.urgency)) ?? pushType.defaultPriority
    expiration = (try? fields.expiration(sendAt: nil)) ?? destination.defaultExpiration(of: pushType)
    collapseID = try? fields.string("collapseId")
    (self.destination, self.app, self.payload) = (destination, app, payload)
    let isExplicit = content.own.value("priority") != nil || content.urgency == nil
    priorityPath = isExplicit ? "apns.priority" : "urgency"
  }

  /// Returns the pushes of a job: first the job's own content, then one push for each language and variant that changes
  /// it. Empty if the job has no content.
  static func all(job root: JSONValue, in bytes: [UInt8], app: AppTraits?) -> [APNsDraft] {
    all(job: root, in: bytes, for: APNsService(app)) { fields, content, payload in
      APNsDraft(fields, content, to: CampaignJob.destination(root), app: app, payload)
    }
  }

  mutating func setPushType(_ type: PushType) {
    pushType = type
    priority = type.defaultPriority
    expiration = destination.defaultExpiration(of: type)
  }

  /// The largest payload in bytes.
  var maximumSize: Int { destination == .channel ? Self.maximumBroadcast : pushType.maximumPayload }

  func sizes(all: Bool) -> [PushLint.Size] {
    guard all else {
      let name = destination == .channel ? "broadcast" : pushType.rawValue
      return [PushLint.Size(name: name, bytes: payload.size, limit: maximumSize)]
    }
    return PushType.allCases.map {
      PushLint.Size(name: $0.rawValue, bytes: payload.size, limit: $0.maximumPayload)
    } + [PushLint.Size(name: "broadcast", bytes: payload.size, limit: Self.maximumBroadcast)]
  }

  /// Returns the probable push type of a payload.
  static func inferred(_ payload: JSONValue) -> PushType {
    guard case .object(let members) = payload.kind else { return .alert }
    guard case .object(let aps)? = members.value("aps")?.kind else {
      return members.value("mdm") == nil ? .alert : .mdm
    }
    if aps.value("content-changed") != nil { return .widgets }
    if aps.value("content-state") != nil || aps.value("event") != nil { return .liveactivity }
    let isVisible = ["alert", "badge", "sound"].contains { aps.value($0) != nil }
    return aps.value("content-available") != nil && !isVisible ? .background : .alert
  }
}

extension PushDestination {
  /// Returns the default of `apns-expiration`. A broadcast must have an expiration, and every channel accepts 0.
  func defaultExpiration(of type: PushType) -> Expiration { self == .channel ? .immediate : type.defaultExpiration }
}
