/// Ledger record of one target: the state of its delivery in Redis. It has twelve bytes, big-endian: state, attempt,
/// status, reason, history, time. The highest four bits of the time contain the variant, because the time does not need
/// these bits before the year 2527.
///
/// A record changes only in one direction: granted, waiting, then again granted and waiting for each further attempt,
/// and finally a terminal outcome. A record that was never written reads as twelve zero bytes, which mean the first
/// attempt. Its target is granted if the index of the target is lower than the slice's number of granted targets.
public struct LedgerRecord: Equatable, Sendable {
  /// Length of one record in bytes.
  public static let size = 12

  /// State of a target in its delivery.
  public enum State: Equatable, Sendable {
    /// The worker may send the target, and may have sent it. The target is in doubt until the worker records an answer
    /// in Redis.
    case granted
    /// The target has an answer and waits for a retry. It is not in doubt.
    case waiting
    /// The target is finished with this outcome.
    case terminal(Outcome)

    /// State byte as stored in Redis.
    public var code: UInt8 {
      switch self {
      case .granted: 0
      case .waiting: 1
      case .terminal(let outcome): outcome.rawValue
      }
    }

    /// - Returns: `nil` for a code that no version has written.
    public init?(code: UInt8) {
      switch code {
      case 0: self = .granted
      case 1: self = .waiting
      default:
        guard let outcome = Outcome(rawValue: code) else { return nil }
        self = .terminal(outcome)
      }
    }
  }

  public var state: State
  /// Number of attempts before this one: 0 to 255.
  public var attempt: UInt8
  /// Facts about the attempts before this one.
  public var history: AttemptHistory
  /// HTTP status of the last answer; 0 for none.
  public var status: UInt16
  /// Reason in the last answer, as a code of the campaign's push service.
  public var reason: ReasonCode
  /// Variant of the user: the variant's position (``CampaignVariants``) plus one. 0 if there is none, and before the
  /// target is finished. The same script call that finishes a target counts it for its variant.
  public var variant: UInt8
  /// Time when the state was reached, in ms since the epoch. When a worker commits a waiting record to Redis, this
  /// field contains the delay until the retry, in ms.
  public var at: UInt64

  /// Creates an instance with these values.
  public init(
    state: State, attempt: UInt8 = 0, history: AttemptHistory = AttemptHistory(), status: UInt16 = 0,
    reason: ReasonCode = .none, variant: UInt8 = 0, at: UInt64 = 0
  ) {
    self.state = state
    self.attempt = attempt
    self.history = history
    self.status = status
    self.reason = reason
    self.variant = variant
    self.at = at
  }

  /// Finishes the target. If an earlier attempt was ambiguous (sent and not answered), an outcome that means "not
  /// delivered" becomes ``Outcome/unknown``.
  ///
  /// - Parameter now: ms since the epoch.
  public mutating func finish(_ outcome: Outcome, at now: UInt64) {
    state = .terminal(history.isAmbiguous && outcome.saysUndelivered ? .unknown : outcome)
    at = now
  }

  /// Whether Redis accepts this record from a worker that has lost its claim. Redis refuses a retry and an outcome that
  /// means "not delivered", because the new owner may have sent the target. `commit.lua` has the same rule.
  public var mayComeFromFormerOwner: Bool {
    if case .terminal(let outcome) = state { return !outcome.saysUndelivered }
    return false
  }

  /// Outcome of a withheld target: a granted target that must not be sent. `nil` if the target is not withheld.
  public var withheld: Outcome? {
    guard state == .granted, history.isWithheld else { return nil }
    return Outcome(rawValue: UInt8(truncatingIfNeeded: status))
  }

  /// Returns the outcome of the target in its slice; `nil` while it has none.
  ///
  /// Every reader uses this function, or its counterpart in `outcome.lua`. The cancellation of a campaign writes no
  /// records. The outcome of an unfinished target therefore depends on the phase of its slice.
  ///
  /// - Parameters:
  ///   - phase: the slice's phase.
  ///   - isGranted: whether the target's index is lower than the slice's number of granted targets.
  public func outcome(in phase: SlicePhase, isGranted: Bool) -> Outcome? {
    if case .terminal(let outcome) = state { return outcome }
    guard phase == .cancelled else { return nil }
    return history.isAmbiguous || state == .granted && isGranted && !history.isWithheld ? .unknown : .cancelled
  }

  /// Reads the record that begins at `offset`. All bytes after the end of the buffer count as zero.
  ///
  /// - Returns: `nil` for bytes that no version has written.
  public init?(_ bytes: UnsafeRawBufferPointer, at offset: Int) {
    guard offset + Self.size <= bytes.count else {
      self.init(state: .granted)
      return
    }
    guard let state = State(code: bytes[offset]) else { return nil }
    var at: UInt64 = 0
    for byte in bytes[(offset + 6)..<(offset + Self.size)] { at = at << 8 | UInt64(byte) }
    self.init(
      state: state, attempt: bytes[offset + 1], history: AttemptHistory(rawValue: bytes[offset + 5]),
      status: UInt16(bytes[offset + 2]) << 8 | UInt16(bytes[offset + 3]),
      reason: ReasonCode(rawValue: bytes[offset + 4]), variant: UInt8(at >> 44), at: at & 0xfff_ffff_ffff)
  }

  /// Last six bytes of the record: time and variant.
  @inlinable public var packedTime: UInt64 { at & 0xfff_ffff_ffff | UInt64(variant) << 44 }

  /// Appends the record in its stored form.
  public func write(to bytes: inout [UInt8]) {
    bytes.append(state.code)
    bytes.append(attempt)
    bytes.append(UInt8(truncatingIfNeeded: status >> 8))
    bytes.append(UInt8(truncatingIfNeeded: status))
    bytes.append(reason.rawValue)
    bytes.append(history.rawValue)
    let last = packedTime
    for shift in stride(from: 40, through: 0, by: -8) { bytes.append(UInt8(truncatingIfNeeded: last >> UInt64(shift))) }
  }
}
