/// A message that obeys the rules of FCM, with the values that its delivery needs.
struct FCMMessage: Equatable {
  /// The addressee of a message.
  enum Target: Equatable {
    case token(String)
    case fid(String)
    case topic(String)
    case condition(String)

    /// The registration token or installation id; `nil` for topics.
    var registration: String? {
      switch self {
      case .token(let text), .fid(let text): text
      case .topic, .condition: nil
      }
    }
  }

  var target: Target
  var isOnlyValidated = false
  /// Whether FCM may replace the message by a later one. This is true for each notification, and for data with a
  /// collapse key.
  var isCollapsible = false
  var restrictedPackage: String?
  /// The text by which the simulator recognizes a duplicate of the message; `nil` for none.
  var identity: String?

  /// The refusal of a message that breaks a rule.
  struct Refused: Error {
    var error: FCMError
  }

  /// Maximum `ttl` in milliseconds: 28 days.
  private static let longestTTL: Int64 = 2_419_200_000
  /// Maximum number of topics in a condition.
  private static let maximumTopics = 5
  /// Maximum length of a registration token in bytes. Google does not document the form of a token.
  private static let longestToken = 4096

  /// Checks the body of a request: JSON, types, target, Android, data, other platforms and size, in this order.
  ///
  /// - Throws: ``Refused``.
  init(_ body: [UInt8], by knobs: FCMKnobs) throws {
    guard let request = JSONTreeParser.parse(body) else {
      throw Refused(error: .types([.init(field: "", description: "Invalid JSON payload received. Unexpected token.")]))
    }
    let violations = TypeCheck(request).violations
    guard violations.isEmpty else { throw Refused(error: .types(violations)) }
    guard let message = request.member("message") else {
      throw Self.invalid("Recipient of the message is not set.", "message")
    }
    isOnlyValidated = request.member("validate_only", or: "validateOnly") == .bool(true)
    target = try Self.target(of: message)
    let android = message.member("android")
    let newAndroid = message.member("android_v2", or: "androidV2")
    if android != nil, newAndroid != nil {
      throw Self.invalid("Only one of android and android_v2 can be set.", "message.android_v2")
    }
    if let newAndroid { try Self.checkV2(newAndroid) }
    try Self.checkData(message)
    for (part, path) in [(android, "message.android"), (newAndroid, "message.android_v2")] {
      if let part { try Self.checkAndroid(part, path) }
    }
    try Self.checkLabels(message)
    try Self.checkWeb(message.member("webpush"))
    let config = android ?? newAndroid
    let data = config?.member("data") ?? message.member("data")
    let shown =
      config?.member("notification")
      ?? newAndroid?.member("remote_notification", or: "remoteNotification")?.member("notification")
    let names = data?.members.reduce(0) { $0 + $1.name.utf8.count } ?? 0
    let size = names + Self.size(data) + Self.size(message.member("notification")) + Self.size(shown)
    guard size <= knobs.messageBytes else { throw Refused(error: .tooLarge(knobs)) }
    let isNotification = shown != nil || message.member("notification") != nil
    isCollapsible = isNotification || config?.member("collapse_key", or: "collapseKey") != nil
    restrictedPackage = config?.member("restricted_package_name", or: "restrictedPackageName")?.text
    let key = knobs.duplicateKey.isEmpty ? nil : data?.member(knobs.duplicateKey)?.text
    identity = key ?? shown?.member("tag")?.text
  }

  private static func invalid(_ message: String, _ field: String) -> Refused {
    Refused(error: .invalid(message, field: field))
  }

  // MARK: Targets

  private static func target(of message: JSONTree) throws -> Target {
    let names = ["fid", "token", "topic", "condition"]
    let targets = message.members.filter { names.contains($0.name) && !$0.value.isNull }
    guard let first = targets.first, let text = first.value.text, !text.isEmpty else {
      throw invalid("Recipient of the message is not set.", "message")
    }
    if targets.count > 1 {
      let text =
        "Invalid value at 'message' (oneof), oneof field 'target' is already set. Cannot set '\(targets[1].name)'"
      throw Refused(error: .types([.init(field: "message", description: text)]))
    }
    switch first.name {
    case "token": return .token(text)
    case "fid": return .fid(text)
    case "topic":
      guard isTopic(text) else { throw invalid("Topic name contains invalid characters.", "message") }
      return .topic(text)
    default:
      guard isCondition(text) else { throw Refused(error: .invalidCondition) }
      return .condition(text)
    }
  }

  /// Returns whether a text has the form of a registration token, which may also be an installation id.
  static func isToken(_ text: String) -> Bool {
    text.utf8.count <= longestToken
      && text.utf8.allSatisfy { isLetterOrDigit($0) || $0 == 0x5F || $0 == 0x2D || $0 == 0x3A }
  }

  /// Returns whether a text has the form of an installation id: 22 characters, the first one of `c` to `f`.
  static func isInstallationID(_ text: String) -> Bool {
    guard let first = text.utf8.first, text.utf8.count == 22, (0x63...0x66).contains(first) else { return false }
    return text.utf8.allSatisfy { isLetterOrDigit($0) || $0 == 0x5F || $0 == 0x2D }
  }

  private static func isLetterOrDigit(_ byte: UInt8) -> Bool {
    (0x30...0x39).contains(byte) || (0x41...0x5A).contains(byte) || (0x61...0x7A).contains(byte)
  }

  private static let topicSigns = Array("-_.~%".utf8)

  private static func isTopic(_ text: String) -> Bool {
    text.utf8.allSatisfy { isLetterOrDigit($0) || topicSigns.contains($0) }
  }

  /// Returns whether a text has the form `'a' in topics && ('b' in topics || !('c' in topics))`.
  private static func isCondition(_ text: String) -> Bool {
    var parser = ConditionParser(text)
    return parser.parse() && parser.topics <= maximumTopics
  }

  // MARK: Data

  private static func checkData(_ message: JSONTree) throws {
    let maps = [
      ("message.data", message.member("data")), ("message.android.data", message.member("android")?.member("data")),
      ("message.android_v2.data", message.member("android_v2", or: "androidV2")?.member("data")),
    ]
    for (path, data) in maps {
      for member in data?.members ?? [] where isReserved(member.name) {
        throw invalid("Invalid data payload key: \(member.name)", path)
      }
    }
  }

  private static func isReserved(_ key: String) -> Bool {
    key == "from" || key == "message_type" || key.hasPrefix("google.") || key.hasPrefix("gcm.notification.")
  }

  /// Returns the bytes of all texts in a value. The names of members do not count.
  private static func size(_ value: JSONTree?) -> Int {
    switch value {
    case .string(let text): text.utf8.count
    case .object(let members): members.reduce(0) { $0 + size($1.value) }
    case .array(let values): values.reduce(0) { $0 + size($1) }
    default: 0
    }
  }

  // MARK: Platforms

  private static func checkAndroid(_ android: JSONTree, _ path: String) throws {
    if let ttl = TypeCheck.milliseconds(android.member("ttl")?.text), !(0...longestTTL).contains(ttl) {
      throw invalid("TTL must be between 0 and 2419200 seconds.", "\(path).ttl")
    }
    let remote = android.member("remote_notification", or: "remoteNotification")
    guard let shown = android.member("notification") ?? remote?.member("notification") else { return }
    let path = remote == nil ? "\(path).notification" : "\(path).remote_notification.notification"
    if let color = shown.member("color")?.text, !isColor(color) {
      throw invalid("Invalid notification color: must be in the form #rrggbb.", "\(path).color")
    }
    for part in ["title", "body"] {
      let key = shown.member("\(part)_loc_key", or: "\(part)LocKey")
      if shown.member("\(part)_loc_args", or: "\(part)LocArgs") != nil, key == nil {
        throw invalid("\(part)_loc_args needs \(part)_loc_key.", "\(path).\(part)_loc_args")
      }
    }
    if let light = shown.member("light_settings", or: "lightSettings") { try checkLight(light, path) }
  }

  private static func checkLight(_ light: JSONTree, _ path: String) throws {
    let names = [
      ("color", "color"), ("light_on_duration", "lightOnDuration"), ("light_off_duration", "lightOffDuration"),
    ]
    for (name, camelName) in names where light.member(name, or: camelName) == nil {
      throw invalid("light_settings needs \(name).", "\(path).light_settings.\(name)")
    }
    for member in light.member("color")?.members ?? [] {
      guard case .number(let digits) = member.value, let value = Double(digits), !(0...1).contains(value) else {
        continue
      }
      throw invalid("A color component must be between 0 and 1.", "\(path).light_settings.color.\(member.name)")
    }
  }

  private static func isColor(_ text: String) -> Bool {
    text.utf8.count == 7 && text.utf8.first == 0x23 && text.utf8.dropFirst().allSatisfy { Hex.value($0) <= 0x0F }
  }

  private static func checkV2(_ android: JSONTree) throws {
    let kinds = [
      android.member("remote_notification", or: "remoteNotification"),
      android.member("background_sync", or: "backgroundSync"),
    ]
    guard kinds.count(where: { $0 != nil }) == 1 else {
      throw invalid("Exactly one of remote_notification and background_sync must be set.", "message.android_v2")
    }
  }

  private static func checkLabels(_ message: JSONTree) throws {
    try checkLabel(message, "message")
    for (name, camelName) in labelled {
      if let part = message.member(name, or: camelName) { try checkLabel(part, "message.\(name)") }
    }
  }

  private static func checkLabel(_ part: JSONTree, _ path: @autoclosure () -> String) throws {
    let options = part.member("fcm_options", or: "fcmOptions")
    guard let label = options?.member("analytics_label", or: "analyticsLabel")?.text else { return }
    guard (1...50).contains(label.utf8.count), isTopic(label) else {
      throw invalid("Invalid analytics label: \(label)", "\(path()).fcm_options.analytics_label")
    }
  }

  /// The parts of a message that may have a label, with both spellings of their names.
  private static let labelled = [
    ("android", "android"), ("android_v2", "androidV2"), ("apns", "apns"), ("webpush", "webpush"),
  ]

  private static func checkWeb(_ web: JSONTree?) throws {
    let headers = web?.member("headers")?.members ?? []
    if let ttl = headers.first(where: { $0.name.lowercased() == "ttl" })?.value.text, Int(ttl).map({ $0 < 0 }) ?? true {
      throw invalid("TTL must be a non-negative integer.", "message.webpush.headers.TTL")
    }
    if let link = web?.member("fcm_options", or: "fcmOptions")?.member("link")?.text, !link.hasPrefix("https://") {
      throw invalid("The link must be an HTTPS URL.", "message.webpush.fcm_options.link")
    }
  }
}
