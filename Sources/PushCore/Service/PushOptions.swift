/// Options of a campaign's pushes in the terms of one push service.
public struct PushOptions: Sendable, Equatable {
  /// The service's name for the type of push: `pushType`.
  public var pushType: String
  /// Priority of the push, in the service's own numbers: `priority`.
  public var priority: Int
  /// Expiration of the push, unless the job sets another one.
  public var expiration: Expiration

  /// Creates an instance with these values.
  public init(pushType: String, priority: Int, expiration: Expiration = .unset) {
    self.pushType = pushType
    self.priority = priority
    self.expiration = expiration
  }
}

/// Destination of a push.
public enum PushDestination: Sendable, Equatable {
  case devices
  /// A broadcast channel.
  case channel

  /// - Parameter audience: `audience` of a job; `nil` for none.
  init(_ audience: JSONValue?) {
    guard case .object(let members)? = audience?.kind, members.value("channel") != nil else {
      self = .devices
      return
    }
    self = .channel
  }
}
