/// Receipt: the app's report that a push was delivered, opened or dismissed. Receipts are the entries of the receipts
/// list in Redis.
public struct ReceiptEvent: Sendable, Equatable, Hashable {
  /// Kind of the receipt. Raw values are names in events, jobs and Redis.
  public enum Kind: String, CaseIterable, Sendable {
    /// The device got the push.
    case delivered
    /// The user opened the push.
    case opened
    /// The user dismissed the push.
    case dismissed
  }

  public var kind: Kind
  /// Id of the campaign.
  public var campaign: String
  public var user: String

  /// Creates an instance with these values.
  public init(_ kind: Kind, campaign: String, user: String) {
    self.kind = kind
    self.campaign = campaign
    self.user = user
  }

  /// - Parameters:
  ///   - bytes: one JSON object with `event`, `campaign` and `user`. It may also contain `at`, the time of the event.
  ///   - now: ms since 1970; `at` may be at most one day later.
  public init(parsing bytes: [UInt8], now: Int) throws(DeviceRowDraft.Problem) {
    var fields = try EventFields(parsing: bytes)
    let name = try fields.required("event")
    guard let kind = Kind(rawValue: name) else {
      throw .init(
        description: "event: \(Excerpt.quoted(name)) is not one of "
          + Kind.allCases.map(\.rawValue).joined(separator: ", "))
    }
    let campaign = try fields.required("campaign")
    guard CampaignID.isValid(campaign) else {
      throw .init(description: "campaign: \(Excerpt.quoted(campaign)) is not \(CampaignID.form)")
    }
    self.init(kind, campaign: campaign, user: try fields.user())
    _ = try fields.instant(now: now)
    try fields.end()
  }
}
