/// Stages of a campaign: the users who get it first, and the conditions for the next stage. The rest of the audience
/// follows the last stage.
public struct CampaignStages: Sendable, Equatable {
  /// Users of a stage.
  public enum Members: Sendable, Equatable {
    /// These users, if they are in the audience. A sample or a control group does not exclude them.
    case users([String])
    /// Share of the audience: above 0, below 1.
    case share(Double)
  }

  /// Rules for the choice of the winning variant.
  public struct Winner: Sendable, Equatable {
    /// Measure for the comparison of variants.
    public var measure: CampaignVariants.Measure
    /// Minimum number of events (such as opens) of all variants together. With fewer events, chance would decide.
    public var minimum: Int
    /// Position of the variant that wins if there are fewer events than ``minimum``; `nil` to ask an operator.
    public var otherwise: Int?

    /// Default of ``minimum``.
    public static let standardMinimum = 20

    /// Creates an instance with these values.
    public init(measure: CampaignVariants.Measure = .opened, minimum: Int = standardMinimum, otherwise: Int? = nil) {
      self.measure = measure
      self.minimum = minimum
      self.otherwise = otherwise
    }
  }

  /// Stage with the conditions of the gate that follows it.
  public struct Stage: Sendable, Equatable {
    /// Users of the stage.
    public var members: Members
    /// Minimum time between the last outcome of this stage and the first push of the next stage, in seconds.
    public var wait: Int
    /// Whether the next stage needs approval.
    public var approval: Bool
    /// Maximum share of failed pushes, 0 to 1. Above this share, the campaign pauses. `nil` for no check.
    public var maximumFailures: Double?
    /// Minimum share of the stage's users, 0 to 1, who have opened the push. Below this share, the campaign pauses.
    /// `nil` for no check.
    public var minimumOpened: Double?
    /// Rules for the choice of the variant that all later stages get; `nil` if no winner is chosen.
    public var winner: Winner?

    /// Creates an instance with these values.
    public init(
      _ members: Members, wait: Int = 0, approval: Bool = false, maximumFailures: Double? = nil,
      minimumOpened: Double? = nil, winner: Winner? = nil
    ) {
      self.members = members
      self.wait = wait
      self.approval = approval
      self.maximumFailures = maximumFailures
      self.minimumOpened = minimumOpened
      self.winner = winner
    }
  }

  /// Stages in the order of the job; at least one.
  public let all: [Stage]
  /// Assignment of users to stages.
  public let draw: StageDraw

  /// Maximum number of stages of a job.
  public static let maximum = 8
  /// Maximum number of listed users of a stage.
  public static let maximumUsers = 100
  /// Allowed waits of a stage in seconds: up to a week, the default time for which results are kept.
  public static let waits = 0...7 * 86_400

  /// - Parameters:
  ///   - all: the stages; at least one.
  ///   - id: the id of the campaign.
  public init(_ all: [Stage], campaign id: String) {
    self.all = all
    draw = StageDraw(all.map(\.members), campaign: id)
  }

  /// Position of the stage after which the winner is chosen; `nil` for none.
  public var winnerPlace: Int? { all.firstIndex { $0.winner != nil } }

  /// Returns the minimum number of seconds from the start of the campaign to the start of the stage with all remaining
  /// users.
  ///
  /// - Parameter isLocal: whether the campaign uses each device's local time. In that case, a stage takes at least one
  ///   day.
  public func minimumDuration(isLocal: Bool) -> Int {
    all.reduce(0) { $0 + max($1.wait, isLocal ? 86_400 : 0) }
  }

  /// Returns the share of the users in a stage; 0 for a stage that lists its users.
  func share(ofStage place: Int) -> Double {
    guard place < all.count else { return 1 - all.reduce(0) { $0 + Self.share(of: $1) } }
    return Self.share(of: all[place])
  }

  private static func share(of stage: Stage) -> Double {
    if case .share(let share) = stage.members { share } else { 0 }
  }

  /// Returns the rate of a stage.
  ///
  /// With `spread`, each stage gets its share of the time. With `finishBy`, each stage gets its share of the time that
  /// remains after subtraction of the waits. In both cases, the rate of a stage that lists its users has no limit.
  ///
  /// - Parameters:
  ///   - rate: the rate of the job.
  ///   - place: the position of the stage.
  ///   - start: start of the stage in UNIX seconds.
  func rate(_ rate: CampaignRate?, ofStage place: Int, start: Int) -> CampaignRate? {
    let share = share(ofStage: place)
    switch rate {
    case nil, .perSecond?: return rate
    case .over(let seconds)?:
      return share > 0 ? .over(seconds: max(1, Int((share * Double(seconds)).rounded()))) : nil
    case .until(let milliseconds)?:
      guard place < all.count else { return rate }
      let waits = all[place...].reduce(0) { $0 + $1.wait }
      let left = (place...all.count).reduce(0) { $0 + self.share(ofStage: $1) }
      let seconds = Double(milliseconds / 1000 - start - waits) * share / left
      return share > 0 ? .over(seconds: min(max(1, Int(seconds.rounded())), CampaignRate.spreads.upperBound)) : nil
    }
  }
}

extension CampaignStages: CustomStringConvertible {
  /// Text for people, such as `2 users, 5m later 5 % of the users, 30m later the rest`.
  public var description: String {
    let steps = all.map { stage in
      let who =
        switch stage.members {
        case .users(let users): users.count == 1 ? "1 user" : "\(users.count) users"
        case .share(let share): StageGate.percent(share) + " of the users"
        }
      let wait = stage.wait > 0 ? DurationText.format(milliseconds: stage.wait * 1000) + " later " : "then "
      return who + ", " + (stage.approval ? "once approved and " : "") + wait
    }
    return steps.joined() + "the rest"
  }
}
