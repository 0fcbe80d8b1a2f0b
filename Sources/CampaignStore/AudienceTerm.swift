import PushCore

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
}

/// Whom a campaign means, over the sets of a partition. Pure.
indirect enum AudienceTerm: Sendable {
  case set(AudienceSet)
  /// Every registered user but these.
  case not(AudienceTerm)
  case and(AudienceTerm, AudienceTerm)
  case or(AudienceTerm, AudienceTerm)

  init(_ expression: AudienceExpression) { self.init(expression.root) }

  private init(_ node: AudienceExpression.Node) {
    switch node {
    case .segment(let name): self = .set(.segment(name))
    case .everybody: self = .set(.users)
    case .not(let node): self = .not(Self(node))
    case .and(let left, let right): self = .and(Self(left), Self(right))
    case .or(let left, let right): self = .or(Self(left), Self(right))
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
  init?(_ campaign: Campaign) {
    switch campaign.audience {
    case .segment(let expression): self.init(expression)
    case .users: self = .set(.listed(campaign: campaign.id))
    case .campaign(let earlier): self.init(earlier)
    case .activity(let name): self = .set(.segment(ActivitySegment.name(of: name)))
    case .tokens, .channel: return nil
    }
    if let excluded = campaign.exclusion.segment { self = without(AudienceTerm(excluded)) }
    if let activity = campaign.exclusion.activity {
      self = without(.set(.segment(ActivitySegment.name(of: activity))))
    }
    for earlier in campaign.exclusion.campaigns { self = without(AudienceTerm(earlier)) }
    for set in campaign.suppressed { self = without(.set(set)) }
  }

  private init(_ earlier: EarlierAudience) {
    self = .set(.reached(EarlierAudience(campaign: earlier.campaign, outcomes: earlier.outcomes)))
    guard let opened = earlier.opened else { return }
    let openers = AudienceTerm.set(.opened(campaign: earlier.campaign))
    self = opened ? .and(self, openers) : without(openers)
  }
}

extension Campaign {
  /// The sets of users that it does not go to, of which there may be none.
  var suppressed: [AudienceSet] { suppression.map { .segment($0.segment) } }

  /// Whether it is not before it begins that it is known in which partitions it can have anybody.
  var isSearchedFor: Bool {
    switch audience {
    case .segment, .campaign, .activity: true
    case .users, .tokens, .channel: false
    }
  }
}
