import PushCore
import Redis

/// A set of a partition that an audience is worked out from.
enum AudienceSet: Hashable, Sendable {
  /// The registered users.
  case users
  /// The users of a segment.
  case segment(String)
  /// The users that the job of a campaign lists.
  case listed(campaign: String)
  /// Users of a campaign that has ended, by their outcomes alone: they stand in its targets and its ledger.
  case reached(EarlierAudience)
  /// Users who opened a campaign.
  case opened(campaign: String)
  /// Users who have a device for which a condition holds: nothing in Redis is this set, so it is never read, only asked.
  case matching(DeviceCondition)
}

/// A condition on devices at a moment.
struct DeviceCondition: Sendable {
  let predicate: DevicePredicate
  /// From when ages are counted, in ms since the epoch.
  let start: Int

  /// Whether a user has a device for which it holds. Those in quarantine are not asked.
  func holds(of record: UnsafeRawBufferPointer, attributes json: RedisReply?) -> Bool {
    let names = predicate.attributes
    let attributes = PredicateAttributes(names.isEmpty ? [] : json?.bytes.map(Array.init) ?? [], of: names)
    return DeviceCursor(record).contains {
      !$0.isQuarantined && predicate.holds(of: $0, user: attributes, now: start)
    }
  }
}

extension DeviceCondition: Hashable {
  static func == (left: DeviceCondition, right: DeviceCondition) -> Bool {
    left.start == right.start && left.predicate.description == right.predicate.description
  }

  func hash(into hasher: inout Hasher) { hasher.combine(predicate.description) }
}

/// Whom a campaign means, over the sets of a partition. Pure.
indirect enum AudienceTerm: Sendable {
  case set(AudienceSet)
  /// Every registered user but these.
  case not(AudienceTerm)
  case and(AudienceTerm, AudienceTerm)
  case or(AudienceTerm, AudienceTerm)

  /// - Parameters:
  ///   - definitions: the segments in it that are rules; they end, see ``SegmentDefinitions/reached(from:)``.
  ///   - start: from when ages in these are counted, in ms since the epoch.
  init(_ expression: AudienceExpression, _ definitions: SegmentDefinitions = SegmentDefinitions(), start: Int = 0) {
    self.init(expression.root, definitions, start)
  }

  private init(_ node: AudienceExpression.Node, _ definitions: SegmentDefinitions, _ start: Int) {
    func term(_ node: AudienceExpression.Node) -> Self { Self(node, definitions, start) }
    switch node {
    case .segment(let name):
      guard let definition = definitions[name] else {
        self = .set(.segment(name))
        return
      }
      self = term(definition.expression.root)
      if let predicate = definition.predicate {
        self = .and(self, .set(.matching(DeviceCondition(predicate: predicate, start: start))))
      }
    case .everybody: self = .set(.users)
    case .not(let node): self = .not(term(node))
    case .and(let left, let right): self = .and(term(left), term(right))
    case .or(let left, let right): self = .or(term(left), term(right))
    }
  }

  /// Without whom another means.
  func without(_ other: AudienceTerm) -> AudienceTerm { .and(self, .not(other)) }

  /// The same where some sets have nobody; `nil` where that leaves nobody.
  func without(empty isEmpty: (AudienceSet) -> Bool) -> AudienceTerm? {
    switch self {
    case .set(let set): return isEmpty(set) ? nil : self
    case .not(let term): return term.without(empty: isEmpty).map { .not($0) } ?? .set(.users)
    case .and(let left, .not(let right)):
      guard let left = left.without(empty: isEmpty) else { return nil }
      return right.without(empty: isEmpty).map { left.without($0) } ?? left
    case .and(let left, let right):
      guard let left = left.without(empty: isEmpty), let right = right.without(empty: isEmpty) else { return nil }
      return .and(left, right)
    case .or(let left, let right):
      guard let left = left.without(empty: isEmpty) else { return right.without(empty: isEmpty) }
      return right.without(empty: isEmpty).map { .or(left, $0) } ?? left
    }
  }
}

extension AudienceTerm {
  /// Whom a campaign means, whatever is known of their devices; `nil` when it is not to users.
  ///
  /// - Parameter start: when it began, in ms since the epoch.
  init?(_ campaign: Campaign, start: Int) {
    guard let selected = AudienceTerm(selectionOf: campaign, start: start) else { return nil }
    self = selected.admitted(by: campaign, start: start).withoutSuppressed(of: campaign)
  }

  /// The users that a campaign selects before exclusions; `nil` if its audience is not made of users.
  ///
  /// - Parameter start: when it began, in ms since the epoch.
  init?(selectionOf campaign: Campaign, start: Int) {
    switch campaign.recipients.audience {
    case .segment(let expression): self.init(expression, campaign.recipients.definitions, start: start)
    case .users: self = .set(.listed(campaign: campaign.whole))
    case .campaign(let earlier): self.init(earlier)
    case .activity(let name): self = .set(.segment(ActivitySegment.name(of: name)))
    case .tokens, .channel: return nil
    }
  }

  /// Returns the term without the users that the job excludes.
  func admitted(by campaign: Campaign, start: Int) -> AudienceTerm {
    var term = self
    if let excluded = campaign.recipients.exclusion.segment {
      term = term.without(AudienceTerm(excluded, campaign.recipients.definitions, start: start))
    }
    if let activity = campaign.recipients.exclusion.activity {
      term = term.without(.set(.segment(ActivitySegment.name(of: activity))))
    }
    for earlier in campaign.recipients.exclusion.campaigns { term = term.without(AudienceTerm(earlier)) }
    return term
  }

  /// Without the users of the suppression lists that apply to a campaign.
  func withoutSuppressed(of campaign: Campaign) -> AudienceTerm {
    campaign.suppressed.reduce(self) { $0.without(.set($1)) }
  }

  /// Whom a campaign reached, in any of its stages.
  private init(_ earlier: EarlierAudience) {
    self.init(earlier, in: earlier.parts.first ?? earlier.campaign)
    for part in earlier.parts.dropFirst() { self = .or(self, AudienceTerm(earlier, in: part)) }
  }

  private init(_ earlier: EarlierAudience, in id: String) {
    self = .set(.reached(EarlierAudience(campaign: id, outcomes: earlier.outcomes)))
    guard let opened = earlier.opened else { return }
    let openers = AudienceTerm.set(.opened(campaign: id))
    self = opened ? .and(self, openers) : without(openers)
  }
}

extension Campaign {
  /// The sets of users that it does not go to, of which there may be none.
  var suppressed: [AudienceSet] { suppression.map { .segment($0.segment) } }

  /// The users whom its stage lists; `nil` where it is no part, or a share of the users.
  var listedByStage: [String]? {
    guard case .number(let number)? = part?.stage, let stages = delivery.stages,
      stages.all.indices.contains(number - 1),
      case .users(let users) = stages.all[number - 1].members
    else { return nil }
    return users
  }

  /// Whether it is not before it begins that it is known in which partitions it can have anybody.
  var isSearchedFor: Bool {
    switch recipients.audience {
    case .segment, .campaign, .activity: true
    case .users, .tokens, .channel: false
    }
  }

  /// Whether it goes to registered users, and so depends on registration events.
  var isToUsers: Bool {
    switch recipients.audience {
    case .segment, .campaign, .activity, .users: true
    case .tokens, .channel: false
    }
  }
}
