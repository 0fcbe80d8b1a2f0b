/// Values of a push that only some knobs and offline devices need: its destination and its storage time.
final class PushDetails: Sendable {
  /// The raw device token; empty if it is invalid.
  let token: [UInt8]
  let topic: [UInt8]
  let topicID: DeviceRegistry.TopicID
  /// `apns-expiration`, seconds since 1970; `nil` without the field.
  let expiration: Int64?
  /// `apns-collapse-id`; empty without the field.
  let collapseID: [UInt8]

  init(_ headers: PushHeaders, topicID: DeviceRegistry.TopicID) {
    token = headers.token.flatMap { Hex.decoded($0) } ?? []
    topic = headers.topic.map { Array($0) } ?? []
    self.topicID = topicID
    expiration = headers.expiration?.decimal
    collapseID = headers.collapseID.map { Array($0) } ?? []
  }
}
