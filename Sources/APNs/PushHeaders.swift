public import PushCore

/// Headers that all pushes of a campaign share. Source: Apple, "Sending notification requests to APNs".
public struct PushHeaders: Sendable, Equatable {
  /// The longest `apns-collapse-id` in bytes of UTF-8.
  public static let maximumCollapseID = 64

  /// `apns-topic`, including the suffix.
  public var topic: String
  /// `apns-push-type`.
  public var pushType: PushType
  /// `apns-priority`.
  public var priority: Int
  /// `apns-expiration` in UNIX seconds; `nil` sends no header.
  public var expiration: Int?
  /// `apns-collapse-id`; `nil` sends no header.
  public var collapseID: String?
  /// `apns-channel-id`. If the channel is set, the push is a broadcast to this channel, and the path of the request
  /// contains ``topic``, which is the bundle id.
  public var channel: String?

  /// Creates an instance with these values.
  public init(
    topic: String, pushType: PushType, priority: Int, expiration: Int? = nil, collapseID: String? = nil,
    channel: String? = nil
  ) {
    self.topic = topic
    self.pushType = pushType
    self.priority = priority
    self.expiration = expiration
    self.collapseID = collapseID
    self.channel = channel
  }
}

extension PushHeaders {
  /// The HTTP request of pushes with these headers. The `apns-id` of each push is added later.
  public var request: PushRequest {
    var fields: [PushRequest.Field] = [
      channel.map { .init("apns-channel-id", $0) } ?? .init("apns-topic", topic),
      .init("apns-push-type", pushType.rawValue),
      .init("apns-priority", "\(priority)"),
    ]
    if let expiration { fields.append(.init("apns-expiration", "\(expiration)")) }
    if let collapseID { fields.append(.init("apns-collapse-id", collapseID)) }
    // Apple, "Sending broadcast push notification requests to APNs".
    let broadcast = channel.map { _ in "/4/broadcasts/apps/\(PushRequest.Field("", topic).value)" }
    return PushRequest(
      path: broadcast ?? "/3/device/", tokenInPath: broadcast == nil ? APNsService.maximumLength : nil, fields: fields,
      identifier: "apns-id")
  }
}
