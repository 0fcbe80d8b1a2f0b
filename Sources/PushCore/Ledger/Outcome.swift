/// Final outcome of one target. The raw values are stored in ledger records: never renumber them.
///
/// The values 0 and 1 are not outcomes. In ledger records, they mean the states granted and waiting (``LedgerRecord``).
public enum Outcome: UInt8, CaseIterable, Sendable {
  /// The service accepted the push.
  case accepted = 16
  /// The device is no longer registered.
  case unregistered = 17
  /// The token has expired.
  case expiredToken = 18
  /// The token is invalid, or belongs to another environment.
  case badToken = 19
  /// The token belongs to another app.
  case wrongTopic = 20
  /// Any other refusal that a retry can't change.
  case rejected = 21
  /// All attempts have failed, and no retry is left.
  case failed = 22
  /// The campaign expired before the target was finished.
  case expired = 23
  /// The push may have been delivered: an attempt was sent without an answer, and no later attempt was accepted or
  /// finally refused.
  case unknown = 24
  /// The campaign was cancelled before the target was finished.
  case cancelled = 25
  /// The user has reached a frequency cap of the app, so the push was not sent.
  case capped = 26
  /// After the expansion, the user was added to a suppression list that applies, so the push was not sent.
  case optedOut = 27
  /// After the expansion, the user lost the device, so the push was not sent.
  case deviceGone = 28

  /// Whether the push failed for another reason than a device that is gone: the service refused the push, or all
  /// attempts failed.
  public var isRefusal: Bool {
    switch self {
    case .badToken, .wrongTopic, .rejected, .failed: true
    case .accepted, .unregistered, .expiredToken, .expired, .unknown, .cancelled, .capped, .optedOut, .deviceGone: false
    }
  }

  /// Whether the outcome means that the push was not delivered, although the push service did not finally refuse it. A
  /// target with an ambiguous attempt never ends with such an outcome: see ``LedgerRecord/finish(_:at:)``.
  /// `outcome.lua` has the same list.
  public var saysUndelivered: Bool {
    switch self {
    case .failed, .expired, .cancelled, .capped, .optedOut, .deviceGone: true
    case .accepted, .unregistered, .expiredToken, .badToken, .wrongTopic, .rejected, .unknown: false
    }
  }

  /// The name in JSON, CSV and the results hashes.
  public var name: String {
    switch self {
    case .accepted: "accepted"
    case .unregistered: "unregistered"
    case .expiredToken: "expiredToken"
    case .badToken: "badToken"
    case .wrongTopic: "wrongTopic"
    case .rejected: "rejected"
    case .failed: "failed"
    case .expired: "expired"
    case .unknown: "unknown"
    case .cancelled: "cancelled"
    case .capped: "capped"
    case .optedOut: "optedOut"
    case .deviceGone: "deviceGone"
    }
  }

  /// Returns the outcome with this ``name``; `nil` for an unknown name.
  public init?(name: String) {
    guard let match = Self.allCases.first(where: { $0.name == name }) else { return nil }
    self = match
  }
}

extension JSONWriter {
  /// Writes the member `outcomes`: the counts of the outcomes that occurred.
  public mutating func outcomes(_ counts: [Outcome: Int]) {
    object("outcomes") { json in
      for outcome in Outcome.allCases {
        if let count = counts[outcome] { json.member(outcome.name, count) }
      }
    }
  }
}
