/// Device token: 1 to 2,048 bytes that only its push service can interpret (``PushService``).
public struct DeviceToken: Hashable, Sendable {
  /// Maximum length of a token in bytes. All known tokens are shorter.
  public static let maximumLength = 2048

  /// Bytes as stored in Redis.
  public let bytes: [UInt8]

  /// - Parameter bytes: 1 to ``maximumLength`` bytes; otherwise the result is `nil`.
  public init?(bytes: some Collection<UInt8>) {
    guard (1...Self.maximumLength).contains(bytes.count) else { return nil }
    self.bytes = Array(bytes)
  }
}
