/// What is known of the attempts of a target before the present one: one byte of its ledger record.
///
/// Bits 0 to 5 are the number of attempts that count against the limit, bit 7 says that one of them was ambiguous. Bit 6
/// says that the present attempt is withheld.
public struct AttemptHistory: RawRepresentable, Equatable, Sendable {
  /// As stored.
  public var rawValue: UInt8

  /// The most attempts that can count: six bits. The configuration allows 20 attempts.
  public static let mostCounted = 63

  private static let countedBits: UInt8 = 0x3f
  private static let withheldBit: UInt8 = 0x40
  private static let ambiguousBit: UInt8 = 0x80

  /// As stored.
  public init(rawValue: UInt8) { self.rawValue = rawValue }

  /// The history of a first attempt, unless said otherwise.
  public init(counted: Int = 0, isAmbiguous: Bool = false) {
    rawValue = UInt8(min(max(0, counted), Self.mostCounted))
    self.isAmbiguous = isAmbiguous
  }

  /// Attempts that count against the limit. An attempt does not count if nothing was sent, or if it failed through no fault
  /// of the target.
  public var counted: Int { Int(rawValue & Self.countedBits) }

  /// Whether an earlier attempt was sent and not answered, so the target may have been delivered.
  public var isAmbiguous: Bool {
    get { rawValue & Self.ambiguousBit != 0 }
    set { rawValue = newValue ? rawValue | Self.ambiguousBit : rawValue & ~Self.ambiguousBit }
  }

  /// Whether the present attempt was granted and must not be sent: the target ends with the outcome that its record has as
  /// its status.
  public var isWithheld: Bool {
    get { rawValue & Self.withheldBit != 0 }
    set { rawValue = newValue ? rawValue | Self.withheldBit : rawValue & ~Self.withheldBit }
  }

  /// Counts one more attempt.
  public mutating func count() {
    if counted < Self.mostCounted { rawValue += 1 }
  }
}
