/// Content of a push that is the same for all push services: `message` of a job, in one variant and language. Each
/// service renders the message (``PushService/payload(rendering:with:in:)``).
///
/// A text may contain placeholders, which are replaced after the rendering. A service therefore copies texts unchanged.
public struct CommonMessage: Sendable {
  /// Title of the notification: a string.
  public let title: JSONValue?
  /// Text of the notification: a string.
  public let body: JSONValue?
  /// Address of an image: a string.
  public let image: JSONValue?
  /// Address that the app opens: a string.
  public let link: JSONValue?
  /// Name of a sound: a string. `default` is the system's sound.
  public let sound: JSONValue?
  /// Number on the app's icon: a whole number, or a step such as `"+1"` (``BadgeStep``).
  public let badge: JSONValue?
  /// Data for the app. All values are strings.
  public let data: [JSONValue.Member]

  /// Largest number on an icon: APNs and FCM read a signed integer of 32 bits.
  public static let largestBadge = Int(Int32.max)

  /// Names of the fields.
  public static let fields = ["title", "body", "image", "link", "sound", "badge", "data"]

  /// Whether the user can perceive the message: it has a title, a body, an image, a sound or a badge. Any other message
  /// only carries a link or data for the app.
  public var isPerceptible: Bool {
    [title, body, image, sound, badge].contains { $0 != nil }
  }

  /// Reads a message.
  ///
  /// - Parameters:
  ///   - value: an object with ``fields`` as members, none of them `null`.
  ///   - path: returns the path of a field in the job.
  /// - Throws: an error for the first invalid field.
  init(_ value: JSONValue, path: (JSONValue, String) -> String) throws(JobError) {
    guard case .object(let members) = value.kind else {
      throw JobError(field: path(value, ""), message: "must be a JSON object, not \(value.kindName)")
    }
    guard !members.isEmpty else {
      throw JobError(field: path(value, ""), message: "is empty", hint: "add title, body or data")
    }
    for name in ["title", "body", "image", "link", "sound"] {
      guard let value = members.value(name) else { continue }
      guard case .string(let text) = value.kind else {
        throw JobError(field: path(value, name), message: "must be a string, not \(value.kindName)")
      }
      if text.isEmpty, name != "title", name != "body" {
        throw JobError(field: path(value, name), message: "must not be empty", hint: "omit it")
      }
      if name == "image" || name == "link", !AddressText.isAddress(text) {
        throw JobError(
          field: path(value, name), message: "\(Excerpt.quoted(text)) is not a URL",
          hint: name == "image"
            ? "write https://…" : "write https://…, or a URL of the app such as news://article/17")
      }
    }
    if let badge = members.value("badge"), !Self.isBadge(badge) {
      throw JobError(
        field: path(badge, "badge"), message: "must be a whole number or a step",
        hint: #"use 0 to \#(Self.largestBadge), or a string from "+1" to "+\#(BadgeStep.most)""#)
    }
    data = try Self.data(members, path)
    (title, body) = (members.value("title"), members.value("body"))
    (image, link) = (members.value("image"), members.value("link"))
    (sound, badge) = (members.value("sound"), members.value("badge"))
  }

  private static func data(
    _ members: [JSONValue.Member], _ path: (JSONValue, String) -> String
  ) throws(JobError) -> [JSONValue.Member] {
    guard let value = members.value("data") else { return [] }
    guard case .object(let data) = value.kind else {
      throw JobError(field: path(value, "data"), message: "must be a JSON object, not \(value.kindName)")
    }
    for member in data {
      guard case .string = member.value.kind else {
        throw JobError(
          field: path(member.value, "data." + Excerpt.bare(member.name)),
          message: "must be a string, not \(member.value.kindName): some services carry only strings",
          hint: "put it in quotes, or add it to the object of one service")
      }
    }
    return data
  }

  private static func isBadge(_ value: JSONValue) -> Bool {
    switch value.kind {
    case .number(let text): Int(text).map { 0...largestBadge ~= $0 } ?? false
    case .string(let text): BadgeStep.read(text) != nil
    default: false
    }
  }
}
