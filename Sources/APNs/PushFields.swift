internal import PushCore

extension PushHeaders {
  /// The header fields that all pushes with these headers share, names in lower case; `apns-id` and what HTTP/2 itself
  /// asks for are not among them.
  func fields(_ authorization: PushAuthorization) -> [(name: String, value: String)] {
    var fields: [(name: String, value: String)] = []
    if case .token(let token) = authorization { fields.append(("authorization", "bearer \(token.jwt)")) }
    fields += [
      channel.map { ("apns-channel-id", Self.plain($0)) } ?? ("apns-topic", Self.plain(topic)),
      ("apns-push-type", pushType.rawValue),
      ("apns-priority", "\(priority)"),
    ]
    if let expiration { fields.append(("apns-expiration", "\(expiration)")) }
    if let collapseID { fields.append(("apns-collapse-id", Self.plain(collapseID))) }
    return fields
  }

  /// The text without control characters: a line break would begin another header (RFC 9113 section 8.2.1).
  static func plain(_ text: String) -> String {
    String(decoding: text.utf8.filter { $0 >= 0x20 && $0 != 0x7f }, as: UTF8.self)
  }
}
