/// What the simulator knows of one device token.
public struct SimulatedDevice: Equatable, Sendable {
  /// How pushes to the token end.
  public enum State: String, CaseIterable, Codable, Sendable {
    /// Taken when the topic is the device's.
    case registered
    /// 410 `Unregistered` with the timestamp.
    case unregistered
    /// 410 `ExpiredToken` with the timestamp.
    case expired
    /// 400 `BadDeviceToken`, as if the token were unknown.
    case bad
    /// 400 `DeviceTokenNotForTopic` whatever the topic.
    case wrongTopic
  }

  /// The token itself, 1 to 255 bytes.
  public var token: [UInt8]
  public var state: State
  /// The only topic that the token takes, or `nil` for any.
  public var topic: String?
  /// Where the token is good, elsewhere it gets 400 `BadDeviceToken`; `nil` for everywhere.
  public var environment: SimulatorEnvironment?
  /// Milliseconds since 1970 at which APNs found the token dead; for the states that answer with 410.
  public var timestamp: Int64

  /// - Parameters:
  ///   - token: 1 to 255 bytes.
  ///   - state: how pushes to it end.
  ///   - topic: the only topic it takes, or `nil` for any.
  ///   - timestamp: milliseconds since 1970, for the states that answer with 410.
  ///   - environment: where it is good, or `nil` for everywhere.
  public init(
    token: [UInt8], state: State = .registered, topic: String? = nil, timestamp: Int64 = 0,
    environment: SimulatorEnvironment? = nil
  ) {
    self.token = token
    self.state = state
    self.topic = topic
    self.timestamp = timestamp
    self.environment = environment
  }
}
