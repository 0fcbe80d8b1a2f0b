internal import PushCore
internal import PushTransport

/// Members that Carillon adds to the message of a campaign. Carillon never changes an existing member of the message.
struct MessageAdditions {
  /// Value of `android.ttl`.
  enum Expiration {
    /// FCM's default: 28 days.
    case standard
    /// One attempt at delivery.
    case immediate
    /// The seconds that remain until the expiration, computed when the push is sent.
    case lifetime
  }

  /// `android.priority`: `HIGH` or `NORMAL`.
  var priority: String
  /// `android.ttl`.
  var expiration: Expiration
  /// `android.collapse_key`; `nil` for none.
  var collapseKey: String?
  /// `android.notification.tag` of a message that shows a notification; `nil` for none.
  var tag: String?
  /// `fcm_options.analytics_label`.
  var analyticsLabel: String

  /// Longest `android.ttl` in seconds: 28 days. Source: `google.firebase.fcm.v1.AndroidConfig`.
  static let maximumLifetime = 2_419_200
  /// Longest `analytics_label` in characters. Source: `google.firebase.fcm.v1.FcmOptions`.
  static let maximumLabel = 50

  /// Returns the analytics label for a campaign. Every campaign id consists of allowed characters.
  ///
  /// A long id is shortened. Digits of its hash are appended, so that the runs of a recurring campaign have different
  /// labels.
  static func label(campaign: String) -> String {
    guard campaign.utf8.count > maximumLabel else { return campaign }
    let digits = PushID.collapseID(campaign: campaign).prefix(8)
    return campaign.prefix(maximumLabel - digits.count - 1) + "-" + digits
  }

  /// Returns whether a message shows a notification on Android.
  static func showsNotification(_ message: [JSONValue.Member]) -> Bool {
    message.hasField("notification") || message.object("android")?.hasField("notification") == true
      || message.object("android_v2")?.hasField("remote_notification") == true
  }

  /// Returns the part of a request that follows the token: the message with these members added.
  ///
  /// - Parameter template: the message, an object.
  func rest(of template: PayloadTemplate) -> PayloadTemplate {
    let skeleton = template.skeleton
    guard let root = try? JSONValue(parsing: skeleton, maximumDepth: CampaignJob.maximumNesting),
      case .object(let message) = root.kind
    else { return template }
    var edits: [PayloadTemplate.Edit] = []
    let added = additions(to: message, &edits)
    let isEmpty = message.isEmpty && added.text.isEmpty && added.textAfterLifetime == nil
    // The request begins with {"message":{"token":"…". The rest of the message follows without its opening brace.
    let opening = Array((isEmpty ? #"""# : #"","#).utf8)
    edits.append(
      PayloadTemplate.Edit(
        root.range.lowerBound..<root.range.lowerBound + 1, opening + added.text,
        textAfterLifetime: added.textAfterLifetime))
    edits.append(PayloadTemplate.Edit(skeleton.count..<skeleton.count, [UInt8(ascii: "}")]))
    edits.sort { $0.range.lowerBound < $1.range.lowerBound }
    let size = template.applying(edits, uncounted: 0)
    return template.applying(edits, uncounted: size.skeleton.count - counted(message))
  }

  /// Returns the size of the message after the addition, in the bytes that count for FCM's limit (``MessageSize``).
  func counted(_ message: [JSONValue.Member]) -> Int {
    MessageSize.count(message) + (addsTag(to: message) ? tag?.utf8.count ?? 0 : 0)
  }

  private func addsTag(to message: [JSONValue.Member]) -> Bool {
    tag != nil && Self.showsNotification(message) && message.object("android_v2") == nil
      && message.object("android")?.object("notification")?.hasField("tag") != true
  }

  // MARK: Members

  /// JSON text of the members that are added to one object.
  private struct Members {
    var text: [UInt8] = []
    /// Text after the remaining lifetime of the push. The lifetime itself is inserted between ``text`` and this text
    /// when the push is sent. `nil` if the members contain no lifetime.
    var textAfterLifetime: [UInt8]?

    mutating func add(_ json: String) {
      let separated = Array(((text.isEmpty && textAfterLifetime == nil ? "" : ",") + json).utf8)
      if textAfterLifetime == nil { text += separated } else { textAfterLifetime? += separated }
    }

    mutating func add(_ name: String, _ value: String) {
      add(String(JSONWriter.object(name, value).dropFirst().dropLast()))
    }

    mutating func addLifetime() {
      add(#""ttl":""#)
      textAfterLifetime = Array(#"s""#.utf8)
    }

    /// Adds a member whose value is an object with the given members.
    mutating func add(_ name: String, _ members: Members) {
      add("\"\(name)\":{" + String(decoding: members.text, as: UTF8.self))
      if let behind = members.textAfterLifetime { textAfterLifetime = behind }
      if textAfterLifetime == nil { text += [UInt8(ascii: "}")] } else { textAfterLifetime? += [UInt8(ascii: "}")] }
    }

    /// Adds the comma before the existing members of the object.
    mutating func close(before members: [JSONValue.Member]) {
      guard !members.isEmpty, !text.isEmpty || textAfterLifetime != nil else { return }
      if textAfterLifetime == nil { text += [UInt8(ascii: ",")] } else { textAfterLifetime? += [UInt8(ascii: ",")] }
    }

    /// Returns the edit that adds the members to an object.
    func edit(of object: JSONValue) -> PayloadTemplate.Edit {
      let place = object.range.lowerBound + 1
      return PayloadTemplate.Edit(place..<place, text, textAfterLifetime: textAfterLifetime)
    }
  }

  /// Returns the members that are added at the top level of the message. Appends the edits of nested objects to
  /// `edits`.
  private func additions(
    to message: [JSONValue.Member], _ edits: inout [PayloadTemplate.Edit]
  ) -> Members {
    var added = Members()
    addLabel(to: message, &added, &edits)
    let name = message.hasField("android_v2") ? "android_v2" : "android"
    if let config = message.field(name), case .object(let members) = config.kind {
      var inner = android(name, members, of: message)
      inner.close(before: members)
      edits.append(inner.edit(of: config))
      addTag(to: members, of: message, &edits)
    } else if !message.hasField(name) {
      added.add(name, android(name, [], of: message))
    }
    added.close(before: message)
    return added
  }

  private func addLabel(
    to message: [JSONValue.Member], _ added: inout Members, _ edits: inout [PayloadTemplate.Edit]
  ) {
    let ofAndroid = (message.object("android") ?? message.object("android_v2"))?.object("fcm_options")
    guard ofAndroid?.hasField("analytics_label") != true else { return }
    var label = Members()
    label.add("analytics_label", analyticsLabel)
    if let options = message.field("fcm_options"), case .object(let members) = options.kind {
      guard !members.hasField("analytics_label") else { return }
      label.close(before: members)
      edits.append(label.edit(of: options))
    } else if !message.hasField("fcm_options") {
      added.add("fcm_options", label)
    }
  }

  /// Returns the members that are added to the settings for Android.
  private func android(_ name: String, _ config: [JSONValue.Member], of message: [JSONValue.Member]) -> Members {
    var added = Members()
    if name == "android", !config.hasField("priority") { added.add("priority", priority) }
    if let collapseKey, !config.hasField("collapse_key") { added.add("collapse_key", collapseKey) }
    if name == "android", addsTag(to: message), !config.hasField("notification"), let tag {
      var notification = Members()
      notification.add("tag", tag)
      added.add("notification", notification)
    }
    if !config.hasField("ttl") {
      switch expiration {
      case .standard: break
      case .immediate: added.add("ttl", "0s")
      case .lifetime: added.addLifetime()
      }
    }
    return added
  }

  private func addTag(
    to config: [JSONValue.Member], of message: [JSONValue.Member], _ edits: inout [PayloadTemplate.Edit]
  ) {
    guard addsTag(to: message), let tag, let notification = config.field("notification"),
      case .object(let members) = notification.kind
    else { return }
    var added = Members()
    added.add("tag", tag)
    added.close(before: members)
    edits.append(added.edit(of: notification))
  }
}
