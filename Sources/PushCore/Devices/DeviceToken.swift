/// A device token: 1 to 2,048 bytes that mean something to its push service only (``PushService``).
public struct DeviceToken: Hashable, Sendable {
  /// The longest token in bytes: room for the longest that a service is known to hand out, an address with keys.
  public static let maximumLength = 2048

  /// The bytes that are stored.
  public let bytes: [UInt8]

  /// - Parameter bytes: `nil` is returned unless there are 1 to ``maximumLength`` of them.
  public init?(bytes: some Collection<UInt8>) {
    guard (1...Self.maximumLength).contains(bytes.count) else { return nil }
    self.bytes = Array(bytes)
  }
}
