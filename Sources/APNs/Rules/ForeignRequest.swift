internal import PushCore

/// A complete request for another push product in place of a payload, with that product's tokens, target and names for
/// texts.
///
/// APNs accepts such a payload, because keys outside `aps` belong to the app. But the device shows nothing.
struct ForeignRequest: Equatable {
  /// Name of the product.
  var product: String
  /// Member that identifies the request.
  var member: String
  /// The next step for the reader of the finding: the member of the request that contains the payload.
  var hint: String

  private static let form = #"{"aps": {"alert": {"title": …, "body": …}}}, and your own keys are outside aps"#

  /// - Parameter members: members of a payload. A payload with `aps` at its top does not belong to another product.
  /// - Returns: `nil` if the members are a payload for APNs.
  init?(_ members: [JSONValue.Member]) {
    guard members.value("aps") == nil else { return nil }
    let names = Set(members.map(\.name))
    for product in Self.products where product.matches(members, names) {
      self.init(product: product.name, member: product.member, hint: "\(product.hint): the payload is \(Self.form)")
      return
    }
    // A request of an unknown product has the payload inside one of its members.
    let inner = members.first { member in
      if case .object(let inner) = member.value.kind { inner.value("aps") != nil } else { false }
    }
    guard let inner else { return nil }
    let name = Excerpt.bare(inner.name)
    self.init(product: "another product", member: name, hint: "send only the content of \(name), with aps at the top")
  }

  private init(product: String, member: String, hint: String) {
    (self.product, self.member, self.hint) = (product, member, hint)
  }

  private struct Product {
    var name: String
    /// Member of every request of the product.
    var member: String
    /// Other members beside ``member``. A request has at least one of them, unless the set is empty.
    var beside: Set<String> = []
    /// Members of ``member``'s object or of the first object in its array. A request has at least one of them, unless
    /// the set is empty.
    var inside: Set<String> = []
    var hint: String

    func matches(_ members: [JSONValue.Member], _ names: Set<String>) -> Bool {
      guard let value = members.value(member) else { return false }
      guard beside.isEmpty || !beside.isDisjoint(with: names) else { return false }
      guard !inside.isEmpty else { return true }
      var object = value
      if case .array(let elements) = value.kind, let first = elements.first { object = first }
      guard case .object(let inner) = object.kind else { return false }
      return inner.contains { inside.contains($0.name) }
    }
  }

  /// Products with the names in their API references.
  private static let products = [
    Product(
      name: "FCM", member: "message",
      inside: ["token", "tokens", "topic", "condition", "notification", "apns", "android", "webpush"],
      hint: "send only the content of message.apns.payload"),
    Product(
      name: "FCM (legacy)", member: "registration_ids", hint: "write the content of notification as aps.alert"),
    Product(
      name: "FCM (legacy)", member: "to", beside: ["notification", "data"],
      hint: "write the content of notification as aps.alert"),
    Product(
      name: "OneSignal", member: "app_id",
      beside: [
        "contents", "headings", "template_id", "included_segments", "filters", "include_player_ids", "include_aliases",
        "include_subscription_ids", "include_external_user_ids",
      ], hint: "write contents and headings as aps.alert"),
    Product(
      name: "gorush", member: "notifications", inside: ["tokens", "topic", "platform", "to"],
      hint: "see deploy/guide/migration.md"),
    Product(name: "gorush", member: "tokens", beside: ["platform", "message"], hint: "see deploy/guide/migration.md"),
    Product(
      name: "Expo", member: "to", beside: ["title", "body", "sound", "badge"], hint: "write title and body as aps.alert"
    ),
    Product(
      name: "Airship", member: "audience", beside: ["notification", "device_types"],
      hint: "write the content of notification.ios as aps"),
    Product(name: "Amazon SNS", member: "APNS", hint: "use the JSON in the string APNS"),
    Product(name: "Amazon SNS", member: "APNS_SANDBOX", hint: "use the JSON in the string APNS_SANDBOX"),
    Product(
      name: "Pusher Beams", member: "apns", beside: ["interests", "users", "fcm", "web"], inside: ["aps"],
      hint: "send only the content of apns"),
    Product(
      name: "Braze", member: "messages", inside: ["apple_push", "android_push"],
      hint: "send only the content of messages.apple_push"),
    Product(
      name: "Parse", member: "data", beside: ["where", "channels"], inside: ["alert"], hint: "write data as aps"),
    Product(
      name: "FCM", member: "notification", inside: ["title", "body"],
      hint: "write the content of notification as aps.alert"),
    Product(name: "FCM", member: "apns", inside: ["payload"], hint: "send only the content of apns.payload"),
  ]
}
