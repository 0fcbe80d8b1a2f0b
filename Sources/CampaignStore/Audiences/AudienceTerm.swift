public import PushCore
import Redis

/// A set of users in a partition from which an audience is computed.
enum AudienceSet: Hashable, Sendable {
  /// The registered users.
  case users
  /// The users of a segment.
  case segment(String)
  /// The users that the job of a campaign lists.
  case listed(campaign: String)
  /// Users of an ended campaign, selected by their outcomes. They are read from the targets and the ledger of that
  /// campaign.
  case reached(EarlierAudience)
  /// Users who opened a push of a campaign.
  case opened(campaign: String)
  /// Users with a device that meets a condition. Redis has no such set, so the search only tests the members of other
  /// sets against the condition.
  case matching(DeviceCondition)
}

/// A condition on devices, with the time from which it counts ages.
struct DeviceCondition: Sendable {
  let predicate: DevicePredicate
  /// The start of the campaign, from which ages are counted, in ms since the epoch.
  let start: Int

  /// Returns whether a user has a device that meets the condition. Quarantined devices are ignored.
  func matches(_ record: UnsafeRawBufferPointer, attributes json: RedisReply?) -> Bool {
    let names = predicate.attributes
    let attributes = PredicateAttributes(names.isEmpty ? [] : json?.bytes.map(Array.init) ?? [], of: names)
    return DeviceCursor(record).contains {
      !$0.isQuarantined && predicate.matches($0, user: attributes, now: start)
    }
  }
}

extension DeviceCondition: Hashable {
  static func == (left: DeviceCondition, right: DeviceCondition) -> Bool {
    left.start == right.start && left.predicate.description == right.predicate.description
  }

  func hash(into hasher: inout Hasher) { hasher.combine(predicate.description) }
}

/// The audience of a campaign as an expression over the sets of a partition. Pure.
indirect enum AudienceTerm: Sendable {
  case set(AudienceSet)
  /// All registered users who do not match a term.
  case not(AudienceTerm)
  case and(AudienceTerm, AudienceTerm)
  case or(AudienceTerm, AudienceTerm)

  /// Creates the term of an expression.
  ///
  /// - Parameters:
  ///   - definitions: the segments in the expression that are rules. They have no cycle, see
  ///     ``SegmentDefinitions/reached(from:)``.
  ///   - start: time from which ages in the rules are counted, in ms since the epoch.
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
    case .allUsers: self = .set(.users)
    case .not(let node): self = .not(term(node))
    case .and(let left, let right): self = .and(term(left), term(right))
    case .or(let left, let right): self = .or(term(left), term(right))
    }
  }

  /// Returns the term without the users of another term.
  func without(_ other: AudienceTerm) -> AudienceTerm { .and(self, .not(other)) }

  /// Returns the term in the case that some sets are empty; `nil` if no user can match then.
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
  /// Creates the term for the audience of a campaign, without its condition on devices; `nil` if the campaign is not
  /// sent to users.
  ///
  /// - Parameter start: when the campaign began, in ms since the epoch.
  init?(_ campaign: Campaign, start: Int) {
    guard let selected = AudienceTerm(selectionOf: campaign, start: start) else { return nil }
    self = selected.admitted(by: campaign, start: start).withoutSuppressed(of: campaign)
  }

  /// Creates the term for the selection of a campaign, before exclusions; `nil` if the campaign is not sent to users.
  ///
  /// - Parameter start: when the campaign began, in ms since the epoch.
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

  /// Returns the term without the users of the suppression lists that apply to a campaign.
  func withoutSuppressed(of campaign: Campaign) -> AudienceTerm {
    campaign.suppressed.reduce(self) { $0.without(.set($1)) }
  }

  /// Creates the term for the users of an earlier campaign, in any of its stages.
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
  /// The suppression lists that apply to the campaign. A list that does not exist counts as empty.
  var suppressed: [AudienceSet] { suppression.map { .segment($0.segment) } }

  /// The users that the campaign's stage lists; `nil` if the campaign is not a part or its stage is a share of the
  /// users.
  var listedByStage: [String]? {
    guard case .number(let number)? = part?.stage, let stages = delivery.stages,
      stages.all.indices.contains(number - 1),
      case .users(let users) = stages.all[number - 1].members
    else { return nil }
    return users
  }

  /// Whether the partitions with possible users become known only when the campaign begins.
  public var isSearchedFor: Bool {
    switch recipients.audience {
    case .segment, .campaign, .activity: true
    case .users, .tokens, .channel: false
    }
  }

  /// Whether the campaign is sent to registered users, and so depends on registration events.
  var isToUsers: Bool {
    switch recipients.audience {
    case .segment, .campaign, .activity, .users: true
    case .tokens, .channel: false
    }
  }
}
