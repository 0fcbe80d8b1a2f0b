internal import PushCore

/// A push in its final form, which the rules check.
struct FCMDraft {
  var pushType: FCMPushType
  /// Priority as in a job: 10 or 5.
  var priority: Int
  var expiration: Expiration
  var collapseID: String?
  /// Fields of the job that name a key of the data, with their names.
  var keys: [(field: String, name: String)] = []
  /// The message without its target.
  var payload: JSONValue
  /// Path of the payload in messages: `fcm.message` in a job, empty if the text is the payload.
  var path: String
  /// Path of the priority in messages.
  var priorityPath = "priority"
  /// Payload form from which the push is made; `nil` if the text is the payload.
  private var form: PayloadForm?
  /// Size of the message in bytes as FCM counts it. If pushes differ, the largest known size.
  var size: Int
  /// User with the largest push; `nil` if all pushes are equal.
  var largestFor: String?
  /// Size in bytes if all values have their greatest length; `nil` if the payload has no values, or if a text may be
  /// shortened.
  var longestSize: Int?
  /// Bytes of the message outside the values.
  var fixedSize = 0
  /// Text that contains the payload: the file with the payload, or the job.
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

  private init(
    _ fields: JobFields, _ content: JobContent, payload: JSONValue, in bytes: [UInt8], _ service: FCMService
  ) {
    pushType = (try? FCMService.pushType(of: content.own, content.message)) ?? .alert
    priority = FCMService.priority(of: pushType, content.urgency)
    priorityPath = "urgency"
    expiration = (try? fields.expiration(sendAt: nil)) ?? .unset
    collapseID = try? fields.string("collapseId")
    for field in ["uniqueKey", "campaignKey"] {
      if let name = try? fields.string(field) { keys.append((field, name)) }
    }
    self.payload = payload
    path = "\(service.name).\(service.payloadField)"
    text = bytes
    size = 0
  }

  /// Returns the pushes of a job: one for each language and variant, the content without changes first. Returns none if
  /// the job has no content.
  ///
  /// An invalid field counts as missing: ``PushCore/CampaignJob/read(_:in:_:as:leg:)`` reports it.
  static func all(job root: JSONValue, in bytes: [UInt8], _ service: FCMService) -> [FCMDraft] {
    guard case .object(let members) = root.kind else { return [] }
    let content = JobContent(of: members, for: service)
    let forms = (try? PayloadForm.all(of: members, in: bytes, for: service)) ?? []
    // If the job has a message, its payload is only a part of the push. If the forms can't be made, the reader of jobs
    // reports the error.
    guard let payload = forms.first?.value ?? (content.hasMessage ? nil : content.payload), case .object = payload.kind
    else { return [] }
    let draft = FCMDraft(JobFields(members), content, payload: payload, in: bytes, service)
    guard !forms.isEmpty else { return [draft] }
    return forms.map { form in
      var draft = draft
      (draft.payload, draft.path, draft.largestFor, draft.form) = (form.value, form.payloadPath, form.largestFor, form)
      draft.measure(form)
      return draft
    }
  }

  /// Size of the message in bytes as it is sent: ``size``, unless a text can be shortened and fills the space up to the
  /// limit.
  var sentSize: Int {
    guard let form, let full = form.fullSize else { return size }
    return max(size, min(full - (form.size - size), MessageSize.maximum))
  }

  /// Returns a path in the payload as the path in the job from which the value comes. Other paths are unchanged.
  func place(_ path: String) -> String {
    guard let form, path.hasPrefix(self.path) else { return path }
    let rest = path.dropFirst(self.path.count)
    guard rest.isEmpty || rest.hasPrefix(".") else { return path }
    return form.path(of: String(rest.dropFirst()))
  }

  /// Sets the sizes. FCM counts only a part of the JSON. The number of bytes that do not count is the same for all
  /// values, so it is calculated for the form with all fallbacks.
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

  /// Returns additions for the calculation of sizes. Only the tag counts, whose default has 32 digits.
  private static func additions(tag: String?) -> MessageAdditions {
    MessageAdditions(
      priority: "", expiration: .standard, collapseKey: nil, tag: tag ?? String(repeating: "0", count: 32),
      analyticsLabel: "")
  }

  /// Returns the push type that fits a payload.
  static func inferred(_ payload: JSONValue) -> FCMPushType {
    guard case .object(let members) = payload.kind, !members.isEmpty else { return .alert }
    return MessageAdditions.showsNotification(members) ? .alert : .background
  }
}
