/// A reason that a push service gives with an answer, as one byte; what a code means is the service's to say
/// (``PushService/reasonText(of:)``). Stored in ledger records: a service never renumbers its codes.
public struct ReasonCode: RawRepresentable, Hashable, Sendable {
  /// As stored.
  public let rawValue: UInt8

  /// Any byte is a code.
  public init(rawValue: UInt8) {
    self.rawValue = rawValue
  }

  /// No reason: an acceptance, an empty answer, or none at all.
  public static let none = ReasonCode(rawValue: 0)
  /// A reason that the service has no code for; its text is kept beside the record.
  public static let other = ReasonCode(rawValue: 255)
  /// Not a service's reason but ours: with this target's values the payload is larger than the service takes, so nothing was
  /// sent. No service has a code of this number.
  public static let payloadTooLarge = ReasonCode(rawValue: 254)
}
