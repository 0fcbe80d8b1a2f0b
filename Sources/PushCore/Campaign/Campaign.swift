/// A campaign as its job describes it: validated, with every default filled in. It has a property for each field that a job
/// may have.
public struct Campaign: Sendable, Equatable {
  /// The idempotency key: 1 to 64 of `A-Za-z0-9._-`. Of a run or a part, what ``CampaignID`` makes of it.
  public var id: String
  /// The name of an app of the configuration.
  public var app: String
  /// Whom it goes to.
  public var audience: Audience
  /// Which devices of these users it goes to; `nil` for all.
  public var predicate: DevicePredicate?
  /// Which of these users it goes to; `nil` for all.
  public var sample: UserSample?
  /// How many of these users it goes to at most, those seen last first; `nil` for all.
  public var limit: Int?
  /// How many devices of each of these users it goes to.
  public var devices: DeviceChoice
  /// The share of these users who get nothing, so that the others can be held against them; `nil` for none.
  public var control: UserSample?
  /// Who gets it first, and what must become of them; `nil` when all get it at once.
  public var stages: CampaignStages?
  /// What different users are told; `nil` when all are told the same.
  public var variants: CampaignVariants?
  /// The segments that are rules and on which its audience depends, as they were when it began. The job only names them:
  /// they are the store's to say.
  public var definitions = SegmentDefinitions()
  /// Which of these users it does not go to.
  public var exclusion: AudienceExclusion
  /// What it is about, by the app's own names: users may have said that they want nothing of it; `nil` for none.
  public var category: String?
  /// Whether it goes to users on the app's suppression lists too: a receipt, an alarm that they asked for.
  public var isTransactional: Bool
  /// The payload: JSON without insignificant white space, otherwise byte for byte as the producer wrote it. With variants it is
  /// what they change, or that of the first; ``content`` has all of them.
  public var payload: [UInt8]
  /// What of it differs from push to push; `nil` when all say the payload as it stands.
  public var content: PersonalContent?
  /// What the job says of users that it lists, for ``content``: by user a JSON object.
  public var recipientValues: [String: [UInt8]]
  /// Whether such values stand beside the job, too, in the store: there may be more of them than a job can have.
  public var hasValuesBeside: Bool
  /// The push service's word for what kind of push it is.
  public var pushType: String
  /// How much it matters, in the service's own numbers.
  public var priority: Int
  /// Until when it is of use, before the start of the campaign makes an instant of a duration.
  public var expiration: Expiration
  /// What it replaces on a device, and is replaced by; `nil` leaves it to the service.
  public var collapseID: String?
  /// How urgent it is beside other campaigns.
  public var lane: Lane
  /// When it begins, in ms since the epoch; `nil`, or a time that has passed, for at once.
  public var sendAt: Int?
  /// How fast it may be sent; `nil` for as fast as it goes.
  public var rate: CampaignRate?
  /// When its pushes are sent, as far as its beginning alone does not say so.
  public var timing: CampaignTiming
  /// Which results are also kept as plain hashes.
  public var results: ResultsMode
  /// What becomes of targets in doubt after a crash.
  public var ambiguity: Ambiguity
  /// Seconds that results and ledger stay after the end.
  public var timeToLive: Int
  /// Who submitted it, as whoever did says; `nil` for nobody.
  public var submittedBy: String?
  /// The push types of its companions.
  public var also: [String] = []
  /// Which part of a campaign it is; `nil` for a whole campaign.
  public var part: CampaignPart?
  /// The place of the variant that all of its users get: the winner of an earlier stage; `nil` where each user draws one.
  public var variant: Int?

  /// Seconds that results stay unless the job says otherwise: a week.
  public static let defaultTimeToLive = 7 * 86400

  /// Memberwise; validation is ``CampaignJob``'s.
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
    self.audience = audience
    self.predicate = predicate
    self.sample = sample
    self.limit = limit
    self.devices = devices
    self.control = control
    self.stages = stages
    self.variants = variants
    self.exclusion = exclusion
    self.category = category
    self.isTransactional = isTransactional
    self.payload = payload
    self.content = content
    self.recipientValues = recipientValues
    self.hasValuesBeside = hasValuesBeside
    self.pushType = pushType
    self.priority = priority
    self.expiration = expiration
    self.collapseID = collapseID
    self.lane = lane
    self.sendAt = sendAt
    self.rate = rate
    self.timing = timing
    self.results = results
    self.ambiguity = ambiguity
    self.timeToLive = timeToLive
    self.submittedBy = submittedBy
  }

  /// Until when all its pushes may be delivered, in UNIX seconds; `nil` for no limit, and where each has its own.
  ///
  /// - Parameter start: when it begins, in UNIX seconds.
  public func commonExpiration(startingAt start: Int) -> Int? {
    if case .after = expiration, timing.localTime != nil { return nil }
    return expiration.instant(startingAt: start)
  }

  /// The id of the broadcast channel that it goes to; `nil` when it goes to devices.
  public var channel: String? {
    if case .channel(let id) = audience { id } else { nil }
  }

  /// The Live Activity to whose tokens it goes; `nil` when it goes to tokens of another kind, or of any activity.
  public var activity: String? {
    if case .activity(let name) = audience { name } else { nil }
  }

  /// The lists of users that it does not go to.
  public var suppression: [SuppressionList] {
    guard !isTransactional else { return [] }
    return [SuppressionList(app: app)] + (category.map { [SuppressionList(app: app, category: $0)] } ?? [])
  }

  /// The same campaign with the stages of the earlier campaigns that its audience depends on.
  ///
  /// - Parameter parts: by the id of an earlier campaign, the ids of its stages.
  public func referring(to parts: [String: [String]]) -> Campaign {
    var campaign = self
    if case .campaign(var earlier) = audience {
      earlier.parts = parts[earlier.campaign] ?? []
      campaign.audience = .campaign(earlier)
    }
    for index in campaign.exclusion.campaigns.indices {
      campaign.exclusion.campaigns[index].parts = parts[campaign.exclusion.campaigns[index].campaign] ?? []
    }
    return campaign
  }

  /// The campaigns that its audience depends on, each once: they must have ended before it is known whom it goes to.
  public var earlier: [String] {
    var ids = exclusion.campaigns.map(\.campaign)
    if case .campaign(let earlier) = audience { ids.append(earlier.campaign) }
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
