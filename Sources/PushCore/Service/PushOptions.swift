/// How the push of a campaign is to be sent, as far as that is the service's to say.
public struct PushOptions: Sendable, Equatable {
  /// The service's word for what kind of push it is: `pushType`.
  public var pushType: String
  /// How much it matters, in the service's own numbers: `priority`.
  public var priority: Int
  /// Until when it is of use unless the job says otherwise.
  public var expiration: Expiration

  /// Memberwise.
  public init(pushType: String, priority: Int, expiration: Expiration = .unset) {
    self.pushType = pushType
    self.priority = priority
    self.expiration = expiration
  }
}

/// Where a push goes.
public enum PushDestination: Sendable, Equatable {
  case devices
  /// A broadcast channel.
  case channel
}
