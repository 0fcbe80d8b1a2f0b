/// One device token in the simulator, with the answer to pushes to it.
public struct SimulatedDevice: Equatable, Sendable {
  /// The result of pushes to the token.
  public enum State: String, CaseIterable, Codable, Sendable {
    /// Accepted if the topic is the device's.
    case registered
    /// 410 `Unregistered` with the timestamp.
    case unregistered
    /// 410 `ExpiredToken` with the timestamp.
    case expired
    /// 400 `BadDeviceToken`, as if the token were unknown.
    case bad
    /// 400 `DeviceTokenNotForTopic` for any topic.
    case wrongTopic
  }

  /// The token itself, 1 to 255 bytes.
  public var token: [UInt8]
  public var state: State
  /// The only topic of the token, or `nil` for any.
  public var topic: String?
  /// The environment in which the token is valid; `nil` for both. In the other environment, pushes get 400
  /// `BadDeviceToken`.
  public var environment: SimulatorEnvironment?
  /// Milliseconds since 1970 at which APNs found the token invalid, for the states that answer with 410.
  public var timestamp: Int64

  /// - Parameters:
  ///   - token: 1 to 255 bytes.
  ///   - state: the result of pushes to the token.
  ///   - topic: the only topic of the token, or `nil` for any.
  ///   - timestamp: milliseconds since 1970, for the states that answer with 410.
  ///   - environment: the environment in which the token is valid, or `nil` for both.
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
