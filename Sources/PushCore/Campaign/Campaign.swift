/// A campaign as its job describes it: validated, with every default filled in.
public struct Campaign: Sendable, Equatable {
  /// Idempotency key: 1 to 64 characters of `A-Za-z0-9._-`. The id of a run or a part is derived by ``CampaignID``.
  public var id: String
  /// Name of an app of the configuration.
  public var app: String
  /// Users and devices that get the campaign.
  public var recipients: CampaignRecipients
  /// Content and headers of its pushes.
  public var message: CampaignMessage
  /// Time, order and rate at which its pushes are sent.
  public var delivery: CampaignDelivery
  /// Results that the store also keeps as Redis hashes, in addition to the ledger (the records of all outcomes).
  public var results: ResultsMode
  /// Seconds for which results and ledger are kept after the end.
  public var timeToLive: Int
  /// Name of the submitter, as in the job; `nil` for none.
  public var submittedBy: String?
  /// Part that this value describes; `nil` for a whole campaign.
  public var part: CampaignPart?
  /// Legs of the whole campaign, also if this value describes a part. A campaign has one leg for each push service that
  /// the job addresses. ``message`` is the message for the part's leg, or for the first leg of a whole campaign.
  public var legs: [CampaignLeg] = []
  /// Push service of the leg for which a whole campaign was read; `nil` for the first leg.
  var leg: String?

  /// Default of the seconds for which results are kept: a week.
  public static let defaultTimeToLive = 7 * 86400

  /// Creates an instance. ``CampaignJob`` validates the values.
  public init(
    id: String, app: String, audience: Audience, predicate: DevicePredicate? = nil, sample: UserSample? = nil,
    limit: Int? = nil, devices: DeviceChoice = .all, control: UserSample? = nil, stages: CampaignStages? = nil,
    variants: CampaignVariants? = nil, exclusion: AudienceExclusion = AudienceExclusion(),
    category: String? = nil,
    isTransactional: Bool = false, payload: [UInt8], content: PersonalContent? = nil,
    recipientValues: [String: [UInt8]] = [:], hasValuesBeside: Bool = false, pushType: String = "alert",
    priority: Int = 10,
    expiration: Expiration = .unset, collapseID: String? = nil, lane: Lane = .normal, sendAt: Int? = nil,
    rate: CampaignRate? = nil, timing: CampaignTiming = CampaignTiming(), results: ResultsMode = .failures,
    ambiguity: Ambiguity = .resend, timeToLive: Int = Campaign.defaultTimeToLive, submittedBy: String? = nil
  ) {
    self.id = id
    self.app = app
    recipients = CampaignRecipients(
      audience: audience, predicate: predicate, sample: sample, limit: limit, devices: devices, control: control,
      exclusion: exclusion, category: category, isTransactional: isTransactional)
    message = CampaignMessage(
      payload: payload, content: content, variants: variants, recipientValues: recipientValues,
      hasValuesBeside: hasValuesBeside, pushType: pushType, priority: priority, expiration: expiration,
      collapseID: collapseID)
    delivery = CampaignDelivery(
      lane: lane, sendAt: sendAt, rate: rate, timing: timing, stages: stages, ambiguity: ambiguity)
    self.results = results
    self.timeToLive = timeToLive
    self.submittedBy = submittedBy
  }

  /// Returns the common expiration of all pushes in UNIX seconds; `nil` if the pushes don't expire, or if each push has
  /// its own expiration.
  ///
  /// - Parameter start: start of the campaign in UNIX seconds.
  public func commonExpiration(startingAt start: Int) -> Int? {
    if case .after = message.expiration, delivery.timing.localTime != nil { return nil }
    return message.expiration.instant(startingAt: start)
  }

  /// Id of the broadcast channel of the campaign; `nil` if it goes to devices.
  public var channel: String? {
    if case .channel(let id) = recipients.audience { id } else { nil }
  }

  /// Live Activity whose tokens the campaign uses; `nil` if the campaign has another audience.
  public var activity: String? {
    if case .activity(let name) = recipients.audience { name } else { nil }
  }

  /// Suppression lists whose users do not get the campaign.
  public var suppression: [SuppressionList] {
    guard !recipients.isTransactional else { return [] }
    return [SuppressionList(app: app)] + (recipients.category.map { [SuppressionList(app: app, category: $0)] } ?? [])
  }

  /// Returns this campaign with the ids of all stages of the earlier campaigns on which its audience depends.
  ///
  /// - Parameter parts: the ids of the stages, by the id of the earlier campaign.
  public func referring(to parts: [String: [String]]) -> Campaign {
    var campaign = self
    if case .campaign(var earlier) = recipients.audience {
      earlier.parts = parts[earlier.campaign] ?? []
      campaign.recipients.audience = .campaign(earlier)
    }
    for index in campaign.recipients.exclusion.campaigns.indices {
      campaign.recipients.exclusion.campaigns[index].parts =
        parts[campaign.recipients.exclusion.campaigns[index].campaign] ?? []
    }
    return campaign
  }

  /// Campaigns on which the audience depends, each once. They must have ended before the audience can be evaluated.
  public var earlier: [String] {
    var ids = recipients.exclusion.campaigns.map(\.campaign)
    if case .campaign(let earlier) = recipients.audience { ids.append(earlier.campaign) }
    return Set(ids).sorted()
  }
}

/// Audience of a campaign.
public enum Audience: Sendable, Equatable {
  /// All users of an expression.
  case segment(AudienceExpression)
  /// These users, with all their devices of the app.
  case users([String])
  /// Users of a campaign that has ended.
  case campaign(EarlierAudience)
  /// These device tokens, regardless of their users.
  case tokens([DeviceToken])
  /// All users of a Live Activity, by the app's own name for it. The campaign goes only to the activity's tokens.
  case activity(String)
  /// A broadcast channel, by its id: one push for all its listeners. The only target is the id in UTF-8.
  case channel(String)
}

/// The devices of a user that get a campaign. Raw values are names in a job.
public enum DeviceChoice: String, CaseIterable, Sendable {
  case all
  /// The most recently seen of the user's matching devices. A registration also counts as seen.
  case latest
}

/// Expiration of a push, as in the job.
public enum Expiration: Sendable, Equatable {
  /// The job has no expiration, so the service's own storage policy applies.
  case unset
  /// `0`: one delivery attempt, never stored.
  case immediate
  /// Seconds from the campaign's start.
  case after(seconds: Int)
  /// UNIX seconds.
  case at(seconds: Int)

  /// Whether the pushes expire at a certain time.
  public var isTime: Bool {
    switch self {
    case .unset, .immediate: false
    case .after, .at: true
    }
  }

  /// Returns the expiration in UNIX seconds for a campaign that starts at `start`, also in UNIX seconds. ``immediate``
  /// is 0, and ``unset`` is `nil`.
  public func instant(startingAt start: Int) -> Int? {
    switch self {
    case .unset: nil
    case .immediate: 0
    case .after(let seconds): start + seconds
    case .at(let seconds): seconds
    }
  }
}

/// Lane: priority class in which campaigns are served. Raw values are names in Redis and JSON.
public enum Lane: String, CaseIterable, Sendable {
  case urgent, normal, bulk
}

/// Selection of the results that the store also keeps as Redis hashes. The ledger has all results.
public enum ResultsMode: String, CaseIterable, Sendable {
  case all, failures, none
}

/// Handling of a target in doubt after the death of its worker.
public enum Ambiguity: String, CaseIterable, Sendable {
  /// Send the target again: at-least-once delivery.
  case resend
  /// Record `unknown`: at-most-once delivery.
  case skip
}
