public import PushCore

/// The object `apns` of a job, and the rendering of `message`.
extension APNsService {
  public var jobFields: [ServiceField] {
    let types = PushType.allCases.map { "\"\($0.rawValue)\"" }.joined(separator: ",")
    return [
      ServiceField("payload", schema: #"{"type":"object","properties":{"aps":{"type":["object","null"]}}}"#),
      ServiceField("pushType", schema: "{\"enum\":[\(types)]}"),
      ServiceField("priority", schema: #"{"enum":[1,5,10]}"#),
    ]
  }

  public var payloadField: String { "payload" }
  public func payloadPlaces(in payload: JSONValue) -> PayloadPlaces { PayloadPlaces(badge: ["aps", "badge"]) }

  /// Returns the push type of a job. The default is `alert`, or `background` for a message that has only data.
  static func pushType(of own: JobFields, _ message: CommonMessage?) throws(JobError) -> PushType {
    try own.choice("pushType", default: isSilent(own, message) ? .background : .alert)
  }

  /// Returns whether a message has only data, and the object `apns` of the job adds nothing that the device shows.
  private static func isSilent(_ own: JobFields, _ message: CommonMessage?) -> Bool {
    guard let message, !message.isPerceptible else { return false }
    guard case .object(let payload)? = own.value("payload")?.kind else { return true }
    return payload.value("aps") == nil
  }

  /// Returns the priority of a job: `apns.priority`, or the priority of the job's `urgency`, or the default of the push
  /// type. The first one that exists counts.
  static func priority(of own: JobFields, _ type: PushType, _ urgency: Urgency?) throws(JobError) -> Int {
    guard let value = own.value("priority") else {
      return switch urgency {
      case .high: 10
      case .normal: 5
      case .low: 1
      case nil: type.defaultPriority
      }
    }
    guard case .number(let text) = value.kind, let priority = Int(text), [10, 5, 1].contains(priority) else {
      throw own.error("priority", "must be the number 10, 5 or 1")
    }
    return priority
  }

  /// Renders the common message.
  ///
  /// | `message` | payload |
  /// | --- | --- |
  /// | `title`, `body` | `aps.alert.title`, `aps.alert.body` |
  /// | `sound`, `badge` | `aps.sound`, `aps.badge` |
  /// | `image` | `image`; with an alert also `aps.mutable-content`, which starts the notification service extension |
  /// | `link` | `link`, for the app |
  /// | `data` | its members, beside `aps` |
  ///
  /// A background push without anything visible gets `content-available`, which APNs requires.
  public func payload(
    rendering message: CommonMessage, with options: PushOptions, in json: inout JSONComposer
  ) throws(JobError) -> JSONValue {
    for member in message.data {
      let isTaken = member.name == "image" && message.image != nil || member.name == "link" && message.link != nil
      guard member.name == "aps" || isTaken else { continue }
      throw JobError(
        field: "message.data." + member.name,
        message: member.name == "aps"
          ? "is reserved for APNs" : "has the key that the payload uses for message.\(member.name)",
        hint: "choose another name")
    }
    let one = json.number(1)
    let hasAlert = message.title != nil || message.body != nil
    let isSilent = options.pushType == PushType.background.rawValue && !message.isPerceptible
    let aps: [(String, JSONValue?)] = [
      ("alert", hasAlert ? json.object(["title": message.title, "body": message.body]) : nil),
      ("sound", message.sound), ("badge", message.badge),
      ("mutable-content", hasAlert && message.image != nil ? one : nil), ("content-available", isSilent ? one : nil),
    ]
    var keys: [JSONValue.Member] = []
    for case (let name, let value?) in aps { keys.append(json.member(name, value)) }
    var payload: [JSONValue.Member] = []
    if !keys.isEmpty { payload.append(json.member("aps", json.object(keys))) }
    if let image = message.image { payload.append(json.member("image", image)) }
    if let link = message.link { payload.append(json.member("link", link)) }
    return json.object(payload + message.data)
  }
}
