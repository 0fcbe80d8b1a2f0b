/// Reason that a push service gives with an answer, as one byte. ``PushService/reasonText(of:)`` returns the name of a
/// code.
///
/// Ledger records in Redis contain codes, so a new version may add codes, but never changes or reuses a number. Workers
/// of two versions can therefore share a campaign.
public struct ReasonCode: RawRepresentable, Hashable, Sendable {
  /// Code as stored in Redis.
  public let rawValue: UInt8

  /// Creates a code; any byte is valid.
  public init(rawValue: UInt8) {
    self.rawValue = rawValue
  }

  /// No reason: an acceptance, an empty answer, or no answer.
  public static let none = ReasonCode(rawValue: 0)
  /// A reason for which this version has no code. Its text is stored next to the ledger record.
  public static let other = ReasonCode(rawValue: 255)
  /// A reason of Carillon and not of a service: with the values of this target, the payload is larger than the service
  /// allows, so nothing was sent. No service has a code with this number.
  public static let payloadTooLarge = ReasonCode(rawValue: 254)
}
