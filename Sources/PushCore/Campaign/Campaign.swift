/// A campaign as its job describes it: validated, with every default filled in.
public struct Campaign: Sendable, Equatable {
  /// The idempotency key: 1 to 64 of `A-Za-z0-9._-`. Of a run or a part, what ``CampaignID`` makes of it.
  public var id: String
  /// The name of an app of the configuration.
  public var app: String
  /// The users and devices that get it.
  public var recipients: CampaignRecipients
  /// The content and the headers of its pushes.
  public var message: CampaignMessage
  /// The time, the order and the rate at which its pushes are sent.
  public var delivery: CampaignDelivery
  /// Which results are also kept as plain hashes.
  public var results: ResultsMode
  /// Seconds that results and ledger stay after the end.
  public var timeToLive: Int
  /// The name of the submitter, as the job gives it; `nil` for none.
  public var submittedBy: String?
  /// The part of a campaign that it is; `nil` for a whole campaign.
  public var part: CampaignPart?

  /// Seconds that results stay unless the job says otherwise: a week.
  public static let defaultTimeToLive = 7 * 86400

  /// Memberwise; ``CampaignJob`` validates.
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

  /// Until when all its pushes may be delivered, in UNIX seconds; `nil` for no limit, and where each has its own.
  ///
  /// - Parameter start: when it begins, in UNIX seconds.
  public func commonExpiration(startingAt start: Int) -> Int? {
    if case .after = message.expiration, delivery.timing.localTime != nil { return nil }
    return message.expiration.instant(startingAt: start)
  }

  /// The id of the broadcast channel that it goes to; `nil` when it goes to devices.
  public var channel: String? {
    if case .channel(let id) = recipients.audience { id } else { nil }
  }

  /// The Live Activity to whose tokens it goes; `nil` when it goes to tokens of another kind, or of any activity.
  public var activity: String? {
    if case .activity(let name) = recipients.audience { name } else { nil }
  }

  /// The lists of users that it does not go to.
  public var suppression: [SuppressionList] {
    guard !recipients.isTransactional else { return [] }
    return [SuppressionList(app: app)] + (recipients.category.map { [SuppressionList(app: app, category: $0)] } ?? [])
  }

  /// The same campaign with the stages of the earlier campaigns that its audience depends on.
  ///
  /// - Parameter parts: by the id of an earlier campaign, the ids of its stages.
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

  /// The campaigns that its audience depends on, each once: they must have ended before it is known whom it goes to.
  public var earlier: [String] {
    var ids = recipients.exclusion.campaigns.map(\.campaign)
    if case .campaign(let earlier) = recipients.audience { ids.append(earlier.campaign) }
    return Set(ids).sorted()
  }
}

/// Whom a campaign goes to.
public enum Audience: Sendable, Equatable {
  /// Everybody for whom the expression holds.
  case segment(AudienceExpression)
  /// These users, with all their devices of the app.
  case users([String])
  /// Users of a campaign that has ended.
  case campaign(EarlierAudience)
  /// These device tokens, whoever they belong to.
  case tokens([DeviceToken])
  /// Everybody who has a Live Activity, by the app's own name for it: its tokens, and no others.
  case activity(String)
  /// A broadcast channel, by its id: one push for all who listen to it. Its only target is the id, in UTF-8.
  case channel(String)
}

/// How many devices of a user a campaign goes to. Raw values are names in a job.
public enum DeviceChoice: String, CaseIterable, Sendable {
  case all
  /// The one that was seen last, of those that the campaign could go to; it was seen when it registered.
  case latest
}

/// Until when a push is of use, as a job gives it.
public enum Expiration: Sendable, Equatable {
  /// Not given: the service's own storage policy.
  case unset
  /// `0`: one attempt at delivery, never stored.
  case immediate
  /// Seconds from the campaign's start.
  case after(seconds: Int)
  /// UNIX seconds.
  case at(seconds: Int)

  /// UNIX seconds for a campaign that starts at `start`, both in UNIX seconds; `nil` for no limit.
  public func instant(startingAt start: Int) -> Int? {
    switch self {
    case .unset: nil
    case .immediate: 0
    case .after(let seconds): start + seconds
    case .at(let seconds): seconds
    }
  }
}

/// The order in which campaigns are served. Raw values are names in Redis and JSON.
public enum Lane: String, CaseIterable, Sendable {
  case urgent, normal, bulk
}

/// Which results are kept as plain hashes, beside the ledger that has them all.
public enum ResultsMode: String, CaseIterable, Sendable {
  case all, failures, none
}

/// What becomes of a target that was sent without an answer by a worker that died.
public enum Ambiguity: String, CaseIterable, Sendable {
  /// Send again: at least once.
  case resend
  /// Record `unknown`: at most once.
  case skip
}
