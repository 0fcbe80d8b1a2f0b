/// What finally became of one target. The raw values are stored in ledger records: never renumber.
///
/// Zero and one are not outcomes: they are the ledger's `granted` and `waiting` (see ``LedgerRecord``).
public enum Outcome: UInt8, CaseIterable, Sendable {
  /// The service took the push.
  case accepted = 16
  /// The device is not registered any more.
  case unregistered = 17
  /// The token has come to its end.
  case expiredToken = 18
  /// The token is none, or not of this environment.
  case badToken = 19
  /// The token is another app's.
  case wrongTopic = 20
  /// Any other refusal that a retry can't change.
  case rejected = 21
  /// Retries were used up.
  case failed = 22
  /// The campaign's expiration passed first.
  case expired = 23
  /// It may have been delivered: an attempt was sent and not answered, and no later attempt was accepted or refused for
  /// good.
  case unknown = 24
  /// The campaign was cancelled first.
  case cancelled = 25
  /// Its user has had as many pushes lately as a cap of the app allows: it was not sent.
  case capped = 26
  /// Its user is on a suppression list that applies, since the campaign was expanded: it was not sent.
  case optedOut = 27
  /// Its user no longer has the device, since the campaign was expanded: it was not sent.
  case deviceGone = 28

  /// Whether the service has not taken the push, though it was asked to, and the device is not just gone.
  public var isRefusal: Bool {
    switch self {
    case .badToken, .wrongTopic, .rejected, .failed: true
    case .accepted, .unregistered, .expiredToken, .expired, .unknown, .cancelled, .capped, .optedOut, .deviceGone: false
    }
  }

  /// Whether it says that the push was not delivered, though no push service has refused the target for good. A target with
  /// an ambiguous attempt never ends like that: see ``LedgerRecord/finish(_:at:)``. `outcome.lua` has the same list.
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

  /// The outcome of this name, as ``name`` writes it.
  public init?(name: String) {
    guard let match = Self.allCases.first(where: { $0.name == name }) else { return nil }
    self = match
  }
}
