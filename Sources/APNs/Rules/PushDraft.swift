public import PushCore

/// A push in its final form, which the rules check.
public struct PushDraft: Sendable {
  /// `apns-push-type`.
  public var pushType: PushType
  /// `apns-priority`.
  public var priority: Int
  /// `apns-expiration`.
  public var expiration: Expiration
  /// `apns-collapse-id`.
  public var collapseID: String?
  /// Destination of the push.
  public var destination: PushDestination
  /// The app; `nil` if it is not known.
  public var app: AppTraits?
  /// The payload.
  public var payload: JSONValue
  /// Path of the payload in messages: `apns.payload` in a job, empty if the text is the payload.
  public var path: String
  /// Payload form from which the push is made; `nil` if the text is the payload.
  var form: PayloadForm?
  /// Path of the priority in messages.
  var priorityPath = "priority"
  /// Size of the payload in bytes as it is sent. If pushes differ, the largest known size.
  public var size: Int
  /// User with the largest push; `nil` if all pushes are equal.
  var largestFor: String?
  /// Size in bytes if all values have their greatest length; `nil` if the payload has no values, or if a text may be
  /// shortened.
  var longestSize: Int?
  /// Bytes of the payload outside the values.
  var fixedSize = 0

  /// Creates an instance with these values. A missing value gets the default of a job.
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

  /// The largest payload of a broadcast in bytes. Source: Apple, "Sending broadcast push notification requests to
  /// APNs".
  public static let maximumBroadcast = 5120

  /// Changes the push type, and sets the defaults of the new type.
  mutating func become(_ type: PushType) {
    pushType = type
    priority = type.defaultPriority
    expiration = destination.defaultExpiration(of: type)
  }

  /// The largest payload in bytes.
  public var maximumSize: Int { destination == .channel ? Self.maximumBroadcast : pushType.maximumPayload }
}

extension PushDestination {
  /// Returns the default of `apns-expiration`. A broadcast must have an expiration, and every channel accepts 0.
  func defaultExpiration(of type: PushType) -> Expiration { self == .channel ? .immediate : type.defaultExpiration }
}

extension PushDraft {
  /// Returns the pushes of a job: one for each language and variant, the content without changes first. Returns none if
  /// the job has no content.
  ///
  /// An invalid field counts as missing: ``PushCore/CampaignJob/read(_:in:_:as:leg:)`` reports it.
  static func all(job root: JSONValue, in bytes: [UInt8], app: AppTraits?) -> [PushDraft] {
    guard case .object(let members) = root.kind else { return [] }
    let service = APNsService(app)
    let content = JobContent(of: members, for: service)
    let forms = (try? PayloadForm.all(of: members, in: bytes, for: service)) ?? []
    // If the job has a message, its payload is only a part of the push. If the forms can't be made, the reader of jobs
    // reports the error.
    guard let payload = forms.first?.value ?? (content.hasMessage ? nil : content.payload), case .object = payload.kind
    else { return [] }
    let fields = JobFields(members)
    let pushType = (try? APNsService.pushType(of: content.own, content.message)) ?? .alert
    let own = "\(service.name).\(service.payloadField)"
    var draft = PushDraft(
      pushType: pushType, priority: try? APNsService.priority(of: content.own, pushType, content.urgency),
      expiration: try? fields.expiration(sendAt: nil), collapseID: try? fields.string("collapseId"),
      destination: CampaignJob.destination(root), app: app, payload: payload, path: own,
      size: forms.first?.size ?? JSONValue.minified(bytes[payload.range]).count)
    let isExplicit = content.own.value("priority") != nil || content.urgency == nil
    draft.priorityPath = isExplicit ? "\(service.name).priority" : "urgency"
    guard !forms.isEmpty else { return [draft] }
    return forms.map { form in
      var draft = draft
      (draft.payload, draft.path, draft.size, draft.form) = (form.value, form.payloadPath, form.size, form)
      (draft.largestFor, draft.longestSize, draft.fixedSize) = (form.largestFor, form.longestSize, form.fixedSize)
      return draft
    }
  }

  /// Size of the payload in bytes as it is sent: ``size``, unless a text can be shortened and fills the space up to the
  /// limit.
  var sentSize: Int { form?.fullSize.map { max(size, min($0, maximumSize)) } ?? size }

  /// Returns a path in the payload as the path in the job from which the value comes. Other paths are unchanged.
  func place(_ path: String) -> String {
    guard let form, path.hasPrefix(self.path) else { return path }
    let rest = path.dropFirst(self.path.count)
    guard rest.isEmpty || rest.hasPrefix(".") else { return path }
    return form.path(of: String(rest.dropFirst()))
  }
}

extension PushInspector {
  /// Returns every rule that one push of a job, or the combination of its pushes, breaks.
  ///
  /// - Parameter now: UNIX seconds; `nil` omits rules that depend on the time.
  static func findings(ofJob root: JSONValue, in bytes: [UInt8], app: AppTraits?, now: Int?) -> [Finding] {
    findings(in: PushDraft.all(job: root, in: bytes, app: app), now: now) + repeatedVariants(root, bytes)
  }

  /// Finds variants with equal content, because a comparison of such variants gives no information.
  static func repeatedVariants(_ root: JSONValue, _ bytes: [UInt8]) -> [Finding] {
    guard case .object(let members) = root.kind, members.value("variants") != nil,
      let repeated = try? PayloadForm.repeated(in: members, bytes, for: APNsService())
    else { return [] }
    return repeated.map { path, name in
      Finding(
        .variantSame, path, "has the same content as variant \(Excerpt.quoted(name))",
        hint: "change its message, or remove it")
    }
  }
}
