/// What seldom matters of an accepted push: where it goes, and how long it may wait there.
final class Parcel: Sendable {
  /// The raw device token; empty for what is none.
  let token: [UInt8]
  let topic: [UInt8]
  let topicID: DeviceRegistry.TopicID
  /// `apns-expiration`, seconds since 1970; `nil` without one.
  let expiration: Int64?
  /// `apns-collapse-id`; empty without one.
  let collapseID: [UInt8]

  init(_ headers: PushHeaders, topicID: DeviceRegistry.TopicID) {
    token = headers.token.flatMap { Hex.decoded($0) } ?? []
    topic = headers.topic.map { Array($0) } ?? []
    self.topicID = topicID
    expiration = headers.expiration?.decimal
    collapseID = headers.collapseID.map { Array($0) } ?? []
  }
}
