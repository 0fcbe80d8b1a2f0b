internal import PushCore

/// Size of a message, for the size limit of FCM.
///
/// Google documents a limit of 4,096 bytes for keys and values, but not exactly which bytes count. Carillon counts all
/// keys and values of the data that Android devices get, and all texts of the notification. Source: Firebase, "About
/// FCM messages"; measurements show that FCM's own limit is not lower.
enum MessageSize {
  /// Limit of a message in bytes.
  static let maximum = 4096

  /// Returns the size of a message in bytes of UTF-8.
  static func count(_ message: [JSONValue.Member]) -> Int {
    let android = message.object("android") ?? message.object("android_v2")
    let data = android?.field("data") ?? message.field("data")
    var size = 0
    if case .object(let members)? = data?.kind {
      for member in members { size += member.name.utf8.count + texts(member.value) }
    }
    size += message.field("notification").map(texts) ?? 0
    size += android?.field("notification").map(texts) ?? 0
    size += android?.object("remote_notification")?.field("notification").map(texts) ?? 0
    return size
  }

  /// Returns the number of bytes of all texts and numbers in a value.
  private static func texts(_ value: JSONValue) -> Int {
    switch value.kind {
    case .string(let text): text.utf8.count
    case .array(let elements): elements.reduce(0) { $0 + texts($1) }
    case .object(let members): members.reduce(0) { $0 + texts($1.value) }
    case .number(let digits): digits.utf8.count
    case .bool, .null: 0
    }
  }
}
