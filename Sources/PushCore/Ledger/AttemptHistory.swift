/// Facts about the attempts to send a target, as one byte of its ledger record.
///
/// Bits 0 to 5 are the number of attempts that count against the limit. Bit 7 means that an earlier attempt was
/// ambiguous: sent, but not answered. Bit 6 means that the present attempt is withheld: the worker must not send it.
public struct AttemptHistory: RawRepresentable, Equatable, Sendable {
  /// Byte as stored in Redis.
  public var rawValue: UInt8

  /// Maximum number of counted attempts: the largest number in six bits. The configuration allows at most 20 attempts.
  public static let maximumCounted = 63

  private static let countedBits: UInt8 = 0x3f
  private static let withheldBit: UInt8 = 0x40
  private static let ambiguousBit: UInt8 = 0x80

  /// Reads the stored byte.
  public init(rawValue: UInt8) { self.rawValue = rawValue }

  /// Creates a history. The defaults describe a first attempt.
  public init(counted: Int = 0, isAmbiguous: Bool = false) {
    rawValue = UInt8(min(max(0, counted), Self.maximumCounted))
    self.isAmbiguous = isAmbiguous
  }

  /// Number of attempts that count against the limit. An attempt does not count if nothing was sent, or if the target
  /// was not the cause of the failure. For a service that limits the time of retries, an attempt counts several times
  /// if a long delay followed it.
  public var counted: Int { Int(rawValue & Self.countedBits) }

  /// Whether an earlier attempt was sent, but not answered. The push may then have been delivered.
  public var isAmbiguous: Bool {
    get { rawValue & Self.ambiguousBit != 0 }
    set { rawValue = newValue ? rawValue | Self.ambiguousBit : rawValue & ~Self.ambiguousBit }
  }

  /// Whether the present attempt was granted but must not be sent. The target ends with the outcome in the field
  /// `status` of its record.
  public var isWithheld: Bool {
    get { rawValue & Self.withheldBit != 0 }
    set { rawValue = newValue ? rawValue | Self.withheldBit : rawValue & ~Self.withheldBit }
  }

  /// Counts further attempts, up to ``maximumCounted``.
  public mutating func count(_ attempts: Int) { rawValue += UInt8(min(attempts, Self.maximumCounted - counted)) }
}
