internal import PushCore

/// A push in its final form, which the rules check.
struct FCMDraft {
  var pushType: FCMPushType
  /// Priority as in a job: 10 or 5.
  var priority: Int
  var expiration: Expiration
  var collapseID: String?
  /// The message without its target.
  var payload: JSONValue
  /// Path of the payload in messages: `payload` in a job, empty if the text is the payload.
  var path: String
  /// Size of the message in bytes as FCM counts it. If pushes differ, the largest known size.
  var size: Int
  /// User with the largest push; `nil` if all pushes are equal.
  var largestFor: String?
  /// Size in bytes if all values have their greatest length; `nil` if that size is harmless.
  var longestSize: Int?
  /// Bytes of the message outside the values.
  var fixedSize = 0
  /// Size of the whole payload in bytes as JSON.
  var text: [UInt8]

  /// Creates the draft of a file with a payload.
  init(payload: JSONValue, in bytes: [UInt8], as type: FCMPushType?) {
    pushType = type ?? Self.inferred(payload)
    priority = pushType.defaultPriority
    expiration = .unset
    self.payload = payload
    path = ""
    text = bytes
    size = 0
    if case .object(let members) = payload.kind { size = Self.additions(tag: nil).counted(members) }
  }

  private init(_ fields: JobFields, payload: JSONValue, in bytes: [UInt8]) {
    pushType = (try? fields.choice("pushType", default: FCMPushType.alert)) ?? .alert
    priority = (try? FCMService.priority(of: fields, pushType)) ?? pushType.defaultPriority
    expiration = (try? fields.expiration(sendAt: nil)) ?? .unset
    collapseID = try? fields.string("collapseId")
    self.payload = payload
    path = "payload"
    text = bytes
    size = 0
  }

  /// Returns the pushes of a job: one for each language and variant, the payload itself first. Returns none if the job
  /// has no payload.
  ///
  /// An invalid field counts as missing: ``PushCore/CampaignJob/read(_:in:_:as:)`` reports it.
  static func all(job root: JSONValue, in bytes: [UInt8], _ service: FCMService) -> [FCMDraft] {
    guard case .object(let members) = root.kind else { return [] }
    let forms = (try? PayloadForm.all(of: members, in: bytes, for: service)) ?? []
    guard let payload = forms.first?.value ?? payload(of: members) else { return [] }
    let draft = FCMDraft(JobFields(members), payload: payload, in: bytes)
    guard !forms.isEmpty else { return [draft] }
    return forms.map { form in
      var draft = draft
      (draft.payload, draft.path, draft.largestFor) = (form.value, form.path, form.largestFor)
      draft.measure(form)
      return draft
    }
  }

  private static func payload(of job: [JSONValue.Member]) -> JSONValue? {
    if case .object(let template)? = job.value("template")?.kind { return template.value("payload") }
    return job.value("payload")
  }

  /// Sets the sizes. Only a part of the JSON counts, and this part is known for the form with all fallbacks.
  private mutating func measure(_ form: PayloadForm) {
    let skeleton = form.skeleton
    guard let root = try? JSONValue(parsing: skeleton, maximumDepth: CampaignJob.maximumNesting),
      case .object(let members) = root.kind
    else { return }
    let uncounted = skeleton.count - Self.additions(tag: collapseID).counted(members)
    size = form.size - uncounted
    longestSize = form.longestSize.map { $0 - uncounted }
    fixedSize = form.fixedSize - uncounted
  }

  /// Returns the additions of which one counts: the tag. Its default has 32 digits.
  private static func additions(tag: String?) -> MessageAdditions {
    MessageAdditions(
      priority: "", expiration: .standard, collapseKey: nil, tag: tag ?? String(repeating: "0", count: 32),
      analyticsLabel: "")
  }

  /// Returns the push type that a payload fits.
  static func inferred(_ payload: JSONValue) -> FCMPushType {
    guard case .object(let members) = payload.kind, !members.isEmpty else { return .alert }
    return MessageAdditions.showsNotification(members) ? .alert : .background
  }
}
