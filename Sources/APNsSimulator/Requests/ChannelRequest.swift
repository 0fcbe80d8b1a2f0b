internal import HTTP2

/// A request that manages a broadcast channel or sends a broadcast, read from its path and header fields. The body
/// arrives later. Sources: Apple, "Sending broadcast push notification requests to APNs" and "Sending channel
/// management requests to APNs".
struct ChannelRequest {
  enum Operation: Equatable {
    /// `POST /4/broadcasts/apps/<bundle id>`
    case broadcast
    /// `POST /1/apps/<bundle id>/channels`
    case create
    /// `GET /1/apps/<bundle id>/channels`
    case read
    /// `DELETE /1/apps/<bundle id>/channels`
    case delete
    /// `GET /1/apps/<bundle id>/all-channels`
    case list
  }

  /// Operation of the request; `nil` if the path does not support the method.
  let operation: Operation?
  let app: [UInt8]
  let authorization: [UInt8]?
  let channelID: String?
  let pushType: String?
  let expiration: String?
  let priority: String?
  /// `apns-request-id` as received.
  let requestID: String?
  let hasDuplicates: Bool

  /// - Returns: `nil` if the path is not one of the channel API.
  init?(_ fields: borrowing HeaderFields) {
    guard let path = fields[":path"], let method = fields[":method"] else { return nil }
    let parts = path.split(separator: "/", omittingEmptySubsequences: false).map(String.init)
    switch (parts.count, parts.first) {
    case (5, "") where parts[1...3] == ["4", "broadcasts", "apps"] && !parts[4].isEmpty:
      app = Array(parts[4].utf8)
      operation = method == "POST" ? .broadcast : nil
    case (5, "") where parts[1...2] == ["1", "apps"] && parts[4] == "channels" && !parts[3].isEmpty:
      app = Array(parts[3].utf8)
      operation = ["POST": .create, "GET": .read, "DELETE": .delete][method]
    case (5, "") where parts[1...2] == ["1", "apps"] && parts[4] == "all-channels" && !parts[3].isEmpty:
      app = Array(parts[3].utf8)
      operation = method == "GET" ? .list : nil
    default: return nil
    }
    authorization = fields["authorization"].map { Array($0.utf8) }
    channelID = fields["apns-channel-id"]
    pushType = fields["apns-push-type"]
    expiration = fields["apns-expiration"]
    priority = fields["apns-priority"]
    requestID = fields["apns-request-id"]
    hasDuplicates = PushHeaders(fields).hasDuplicates
  }
}
