public import PushCore

/// One push as it would be sent: what the rules judge.
public struct PushDraft: Sendable {
  /// `apns-push-type`.
  public var pushType: PushType
  /// `apns-priority`.
  public var priority: Int
  /// `apns-expiration`.
  public var expiration: Expiration
  /// `apns-collapse-id`.
  public var collapseID: String?
  /// Where it goes.
  public var destination: PushDestination
  /// The app that it is for; `nil` when it isn't known.
  public var app: AppTraits?
  /// The payload.
  public var payload: JSONValue
  /// The payload's path in messages: `payload` in a job, empty when the text is the payload.
  public var path: String
  /// Bytes of the payload as it is sent: where pushes differ, the most that is known of one.
  public var size: Int
  /// The user whose push that is; `nil` where all are the same.
  var largestFor: String?
  /// Bytes where values are as long as they can be; `nil` where that does no harm.
  var longestSize: Int?
  /// Bytes of it that are no value.
  var fixedSize = 0

  /// Memberwise; what isn't given is as a job that doesn't give it would have it.
  public init(
    pushType: PushType, priority: Int? = nil, expiration: Expiration? = nil, collapseID: String? = nil,
    destination: PushDestination = .devices, app: AppTraits? = nil, payload: JSONValue, path: String, size: Int
  ) {
    self.pushType = pushType
    self.priority = priority ?? pushType.defaultPriority
    self.expiration = expiration ?? destination.defaultExpiration(of: pushType)
    self.collapseID = collapseID
    self.destination = destination
    self.app = app
    self.payload = payload
    self.path = path
    self.size = size
  }

  /// The largest payload of a broadcast in bytes. Source: Apple, "Sending broadcast push notification requests to APNs".
  public static let maximumBroadcast = 5120

  /// Makes it a push of another type, with what that has by default.
  mutating func become(_ type: PushType) {
    pushType = type
    priority = type.defaultPriority
    expiration = destination.defaultExpiration(of: type)
  }

  /// The largest payload in bytes.
  public var maximumSize: Int { destination == .channel ? Self.maximumBroadcast : pushType.maximumPayload }
}

extension PushDestination {
  /// `apns-expiration` unless a job says otherwise. A broadcast must have one, and 0 is what every channel takes.
  func defaultExpiration(of type: PushType) -> Expiration { self == .channel ? .immediate : type.defaultExpiration }
}

extension PushDraft {
  /// The payload of a job: its own, or that of its template.
  private static func payload(of job: [JSONValue.Member]) -> JSONValue? {
    if case .object(let template)? = job.value("template")?.kind { return template.value("payload") }
    return job.value("payload")
  }

  /// The push of a job, in each of its languages and variants, the payload itself first; none when there is none to speak of.
  /// What is wrong with a field by itself counts as not given: that is ``PushCore/CampaignJob/read(_:in:_:)``'s to say.
  static func all(job root: JSONValue, in bytes: [UInt8], app: AppTraits?) -> [PushDraft] {
    guard case .object(let members) = root.kind else { return [] }
    let forms = (try? PayloadForm.all(of: members, in: bytes)) ?? []
    guard let payload = forms.first?.value ?? payload(of: members), case .object = payload.kind else { return [] }
    let fields = JobFields(members)
    let pushType = (try? fields.choice("pushType", default: PushType.alert)) ?? .alert
    let draft = PushDraft(
      pushType: pushType, priority: try? APNsService.priority(of: fields, pushType),
      expiration: try? fields.expiration(sendAt: nil), collapseID: try? fields.string("collapseId"),
      destination: CampaignJob.destination(root), app: app, payload: payload, path: "payload",
      size: forms.first?.size ?? JSONValue.minified(bytes[payload.range]).count)
    guard !forms.isEmpty else { return [draft] }
    return forms.map { form in
      var draft = draft
      (draft.payload, draft.path, draft.size) = (form.value, form.path, form.size)
      (draft.largestFor, draft.longestSize, draft.fixedSize) = (form.largestFor, form.longestSize, form.fixedSize)
      return draft
    }
  }
}

extension PushInspector {
  /// Every rule that a job breaks: each of its pushes, and what they are together.
  ///
  /// - Parameter now: UNIX seconds; `nil` leaves out what depends on the time.
  static func findings(ofJob root: JSONValue, in bytes: [UInt8], app: AppTraits?, now: Int?) -> [Finding] {
    findings(in: PushDraft.all(job: root, in: bytes, app: app), now: now) + repeatedVariants(root, bytes)
  }

  /// Variants that say the same: nothing is learned from them.
  static func repeatedVariants(_ root: JSONValue, _ bytes: [UInt8]) -> [Finding] {
    guard case .object(let members) = root.kind, members.value("variants") != nil,
      let repeated = try? PayloadForm.repeated(in: members, bytes)
    else { return [] }
    return repeated.map { path, name in
      Finding(
        .variantSame, path, "says the same as variant \(Excerpt.quoted(name)): nothing is learned from it",
        hint: "say what differs in its payload, or leave it out")
    }
  }
}
