/// One push as it would be sent: what the rules judge.
public struct PushDraft: Sendable {
  /// Where it goes.
  public enum Destination: Sendable, Equatable {
    case devices
    /// A broadcast channel.
    case channel

    /// `apns-expiration` unless a job says otherwise. A broadcast must have one, and 0 is what every channel takes.
    func defaultExpiration(of type: PushType) -> Expiration {
      self == .channel ? .immediate : type.defaultExpiration
    }
  }

  /// `apns-push-type`.
  public var pushType: PushType
  /// `apns-priority`.
  public var priority: Int
  /// `apns-expiration`.
  public var expiration: Expiration
  /// `apns-collapse-id`.
  public var collapseID: String?
  /// Where it goes.
  public var destination: Destination
  /// The app that it is for; `nil` when it isn't known.
  public var app: AppTraits?
  /// The payload.
  public var payload: JSONValue
  /// The payload's path in messages: `payload` in a job, empty when the text is the payload.
  public var path: String
  /// Bytes of the payload as it is sent.
  public var size: Int

  /// Memberwise; what isn't given is as a job that doesn't give it would have it.
  public init(
    pushType: PushType, priority: Int? = nil, expiration: Expiration? = nil, collapseID: String? = nil,
    destination: Destination = .devices, app: AppTraits? = nil, payload: JSONValue, path: String, size: Int
  ) {
    self.pushType = pushType
    self.priority = priority ?? pushType.defaultPriority
    self.expiration = expiration ?? destination.defaultExpiration(of: pushType)
    self.collapseID = collapseID
    self.destination = destination
    self.app = app
    self.payload = payload
    self.path = path
    self.size = size
  }

  /// The largest payload of a broadcast in bytes. Source: Apple, "Sending broadcast push notification requests to APNs".
  public static let maximumBroadcast = 5120

  /// The largest payload in bytes.
  public var maximumSize: Int { destination == .channel ? Self.maximumBroadcast : pushType.maximumPayload }
}
