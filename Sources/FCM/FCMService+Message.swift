public import PushCore

/// The object `fcm` of a job, and the rendering of `message`.
extension FCMService {
  public var jobFields: [ServiceField] {
    let types = FCMPushType.allCases.map { "\"\($0.rawValue)\"" }.joined(separator: ",")
    return [
      ServiceField("message", schema: #"{"type":"object"}"#), ServiceField("pushType", schema: "{\"enum\":[\(types)]}"),
    ]
  }

  public var payloadField: String { "message" }

  /// Returns two places in a payload: the place of the badge count, and the place of the members that `uniqueKey` and
  /// `campaignKey` add. The second place is the data that Android devices get.
  public func payloadPlaces(in payload: JSONValue) -> PayloadPlaces {
    let badge = ["android", "notification", "notification_count"]
    guard case .object(let message) = payload.kind,
      // The path must have the spelling that the message uses. Another spelling would add a second object.
      let config = message.first(where: { Self.androidFields.contains($0.name) && $0.value.hasData })
    else { return PayloadPlaces(badge: badge, keys: ["data"]) }
    return PayloadPlaces(badge: badge, keys: [config.name, "data"])
  }

  /// Names of the settings for Android, in both spellings.
  private static let androidFields = ["android", "android_v2", "androidV2"]

  public func options(
    of own: JobFields, _ message: CommonMessage?, _ urgency: Urgency?, to destination: PushDestination
  ) throws(JobError) -> PushOptions {
    let type = try Self.pushType(of: own, message)
    return PushOptions(pushType: type.rawValue, priority: Self.priority(of: type, urgency))
  }

  /// Returns the push type of a job. The default is `alert`, or `background` for a message that has only data.
  static func pushType(of own: JobFields, _ message: CommonMessage?) throws(JobError) -> FCMPushType {
    try own.choice("pushType", default: isSilent(own, message) ? .background : .alert)
  }

  /// Returns whether a message has only data, and the object `fcm` of the job adds no notification.
  private static func isSilent(_ own: JobFields, _ message: CommonMessage?) -> Bool {
    guard let message, !message.isPerceptible else { return false }
    guard case .object(let payload)? = own.value("message")?.kind else { return true }
    return !MessageAdditions.showsNotification(payload)
  }

  /// Returns the priority of a job: 10 for `HIGH`, 5 for `NORMAL`. Without an urgency, the job has the default of its
  /// push type.
  static func priority(of type: FCMPushType, _ urgency: Urgency?) -> Int {
    switch urgency {
    case .high: 10
    case .normal, .low: 5
    case nil: type.defaultPriority
    }
  }

  /// Renders the common message.
  ///
  /// | `message` | FCM's message |
  /// | --- | --- |
  /// | `title`, `body`, `image` | `notification.title`, `notification.body`, `notification.image` |
  /// | `sound`, `badge` | `android.notification.sound`, `android.notification.notification_count` |
  /// | `link` | `data.link`, for the app |
  /// | `data` | `data` |
  ///
  /// A message without title, body and image shows nothing on Android, so its sound and badge are omitted. The rule
  /// ``FCMRule/alertEmpty`` reports such a message.
  public func payload(
    rendering message: CommonMessage, with options: PushOptions, in json: inout JSONComposer
  ) throws(JobError) -> JSONValue {
    var data = message.data
    for member in data where member.name == "link" && message.link != nil {
      throw JobError(
        field: "message.data." + member.name, message: "has the key that FCM's data uses for message.link",
        hint: "choose another name")
    }
    if let link = message.link { data.append(json.member("link", link)) }
    let isShown = message.title != nil || message.body != nil || message.image != nil
    let android = [("sound", message.sound), ("notification_count", message.badge)].compactMap { name, value in
      value.map { json.member(name, $0) }
    }
    var members: [JSONValue.Member] = []
    if isShown {
      let notification = json.object(["title": message.title, "body": message.body, "image": message.image])
      members.append(json.member("notification", notification))
    }
    if !data.isEmpty { members.append(json.member("data", json.object(data))) }
    if isShown, !android.isEmpty {
      let notification = json.member("notification", json.object(android))
      members.append(json.member("android", json.object([notification])))
    }
    return json.object(members)
  }
}

extension JSONValue {
  /// Whether the value is an object whose member `data` is an object.
  fileprivate var hasData: Bool {
    guard case .object(let members) = kind else { return false }
    return members.object("data") != nil
  }
}
