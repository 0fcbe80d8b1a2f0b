internal import PushCore
internal import ServiceTools

/// Checks one push against the rules for FCM (``FCMRule``). Pure.
struct FCMInspector: PushInspector {
  typealias Rule = FCMRule

  let draft: FCMDraft
  let now: Int?
  var violations = Violations()

  init(_ draft: FCMDraft, now: Int?) { (self.draft, self.now) = (draft, now) }

  /// Returns a finding for every rule that is broken by one push of a job, or by the combination of its pushes.
  ///
  /// - Parameter now: UNIX seconds; `nil` omits rules that depend on the time.
  static func findings(ofJob root: JSONValue, in bytes: [UInt8], _ service: FCMService, now: Int?) -> [Finding] {
    findings(in: FCMDraft.all(job: root, in: bytes, service), now: now)
      + repeatedVariants(root, bytes, for: FCMService())
  }

  // MARK: The job

  mutating func checkFields() {
    if draft.pushType == .background, draft.priority == 10 {
      report(
        .backgroundPriority, draft.priorityPath,
        "is high, but the push shows no notification: Android lowers the priority of apps that do this",
        hint: "use normal")
    }
    for (field, name) in draft.keys where Self.isReserved(name) {
      report(
        .dataKey, field, "\(Excerpt.quoted(name)) is a name that FCM reserves",
        hint: "choose another name, such as app_\(Excerpt.bare(name))")
    }
    checkExpiration(storedBy: "FCM", days: MessageAdditions.maximumLifetime / 86400)
  }

  // MARK: The message

  mutating func checkPayload() {
    guard case .object(let message) = draft.payload.value.kind else {
      report(.wrongType, draft.path, "must be a JSON object, not \(draft.payload.value.kindName)")
      return
    }
    guard !checkForm(message) else { return }
    checkTarget(message)
    check(message, as: .message, path: draft.path)
    checkAndroid(message)
    checkContent(message)
    checkSize(
      of: " of keys, values and texts", allowedBy: "FCM allows",
      hint: "shorten it, or send an id, and let the app fetch the rest")
    checkOtherPlatforms(message)
  }

  /// Reports a payload that belongs to another service or is a whole request. Returns whether it reported one.
  private mutating func checkForm(_ message: [JSONValue.Member]) -> Bool {
    if message.value("aps") != nil {
      report(
        .wrongForm, path("aps"), "belongs to a payload for APNs",
        hint: #"for FCM write {"notification": {"title": …, "body": …}, "data": {…}}"#)
      return true
    }
    if message.object("message") != nil {
      report(
        .wrongForm, path("message"), "makes the payload a complete request to FCM",
        hint: "send only the content of message, without its token")
      return true
    }
    for name in ["registration_ids", "to"] where message.value(name) != nil {
      report(
        .wrongForm, path(name), "belongs to the legacy FCM API, which Google shut down in 2024",
        hint: #"write {"notification": {"title": …, "body": …}, "data": {…}}"#)
      return true
    }
    return false
  }

  private static let targets = ["token", "fid", "topic", "condition"]

  private mutating func checkTarget(_ message: [JSONValue.Member]) {
    for name in Self.targets where message.hasField(name) {
      report(
        .targetInside, path(name), "is a target: Carillon sends the message to the devices of the audience",
        hint: "remove it, and choose the devices with audience")
    }
    if message.hasField("name") {
      report(.outputOnly, path("name"), "is chosen by FCM", hint: "remove it")
    }
  }

  /// Returns whether a separate rule checks a member of the message: the target or the name.
  static func hasOwnRule(_ name: String) -> Bool { targets.contains(name) || name == "name" }

  private mutating func checkAndroid(_ message: [JSONValue.Member]) {
    guard message.hasField("android_v2") else { return }
    if message.hasField("android") {
      report(.androidTwice, path("android_v2"), "can't be used together with android", hint: "remove one of them")
    }
    guard let config = message.object("android_v2") else { return }
    let kinds = ["remote_notification", "background_sync"].filter { config.hasField($0) }
    if kinds.count != 1 {
      report(
        .androidKind, path("android_v2"),
        kinds.isEmpty
          ? "has neither remote_notification nor background_sync" : "has " + kinds.joined(separator: " and "),
        hint: "use remote_notification to show something, background_sync otherwise")
    }
  }

  private mutating func checkContent(_ message: [JSONValue.Member]) {
    let isVisible = MessageAdditions.showsNotification(message)
    switch draft.pushType {
    case .alert where !isVisible:
      report(
        .alertEmpty, draft.path, "has no notification: Android shows nothing",
        hint: hasData(message)
          ? "add notification; if the app handles the data itself, set fcm.pushType to background"
          : "add a title or body")
    case .alert where !message.hasField("android_v2") && !showsText(message):
      report(
        .alertEmpty, path("notification"), "has no text and no image: Android shows nothing",
        hint: "add a title or body")
    case .background where isVisible:
      report(
        .backgroundVisible, path("notification"), "is not possible in a background push",
        hint: "move its texts to data, or set fcm.pushType to alert")
    case .background where !hasData(message):
      report(
        .backgroundEmpty, draft.path, "has no data: the push does nothing",
        hint: #"add data; an empty object, "data": {}, only wakes the app"#)
    default: break
    }
    let key = message.object("android")?.hasField("collapse_key") == true
    if isVisible, key {
      report(
        .collapseIgnored, path("android.collapse_key"), "is ignored for a message with a notification",
        hint: "use android.notification.tag to replace a notification that is shown")
    }
  }

  /// Returns whether a message has data for the app. An empty object also counts, because its purpose is to wake the
  /// app.
  private func hasData(_ message: [JSONValue.Member]) -> Bool {
    !draft.keys.isEmpty || message.hasField("data") || message.object("android")?.hasField("data") == true
      || message.object("android_v2").map { $0.hasField("data") || $0.hasField("background_sync") } == true
  }

  /// Fields of a notification that users see.
  private static let texts = ["title", "body", "title_loc_key", "body_loc_key", "image"]

  /// Returns whether a notification has a text or an image. A blank text has no effect.
  private func showsText(_ message: [JSONValue.Member]) -> Bool {
    let android = message.object("android")?.object("notification")
    return [message.object("notification"), android].contains { notification in
      Self.texts.contains { name in
        guard case .string(let text)? = notification?.field(name)?.kind else { return false }
        return !Identifier.isBlank(text)
      }
    }
  }

  // MARK: Other platforms

  private mutating func checkOtherPlatforms(_ message: [JSONValue.Member]) {
    for (name, hint) in [
      ("apns", "write what Apple devices get into the job's object apns"), ("webpush", "remove it"),
    ] where message.hasField(name) {
      report(
        .otherPlatform, path(name), "does not apply: Carillon sends to Android devices through FCM", hint: hint)
    }
    if let apns = message.object("apns") { checkApple(apns, of: message) }
    if let headers = message.object("webpush")?.object("headers"),
      let lifetime = headers.first(where: { $0.name.lowercased() == "ttl" }),
      case .string(let text) = lifetime.value.kind,
      text.isEmpty || !text.utf8.allSatisfy({ (0x30...0x39).contains($0) })
    {
      report(
        .webLifetime, path("webpush.headers.\(lifetime.name)"), "\(Excerpt.quoted(text)) is not a number of seconds")
    }
  }

  private mutating func checkApple(_ apns: [JSONValue.Member], of message: [JSONValue.Member]) {
    guard let payload = apns.field("payload"), case .object(let members) = payload.kind else { return }
    let size = JSONValue.minified(draft.text[payload.range]).count
    if size > MessageSize.maximum {
      report(
        .appleSize, path("apns.payload"), "\(size) bytes, more than the \(MessageSize.maximum) that APNs allows",
        hint: "shorten it")
    }
    let aps = members.object("aps") ?? []
    guard !message.hasField("notification"), !["alert", "badge", "sound"].contains(where: { aps.hasField($0) }) else {
      return
    }
    var priority: String?
    if case .string(let text)? = apns.object("headers")?.value("apns-priority")?.kind { priority = text }
    guard priority != "5" else { return }
    report(
      .appleData, path("apns.headers"), "a message that shows nothing on Apple devices needs apns-priority 5",
      hint: #"add "apns-priority": "5""#)
  }
}
