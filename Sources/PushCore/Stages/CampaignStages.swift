/// The stages of a campaign: who gets it first, and what must become of them before others get it. The rest of the
/// audience follows the last stage.
public struct CampaignStages: Sendable, Equatable {
  /// Who is in a stage.
  public enum Members: Sendable, Equatable {
    /// These users, if the audience has them. No sample and no control group leaves them out.
    case users([String])
    /// A share of the users: above 0, below 1.
    case share(Double)
  }

  /// How the winning variant is found.
  public struct Winner: Sendable, Equatable {
    /// What a variant is judged by.
    public var measure: CampaignVariants.Measure
    /// How many of the measured events all variants together need: with fewer, chance would decide.
    public var minimum: Int
    /// The place of the variant that wins with fewer events; `nil` to ask a person.
    public var otherwise: Int?

    /// ``minimum`` where a job does not say so.
    public static let standardMinimum = 20

    /// Memberwise.
    public init(measure: CampaignVariants.Measure = .opened, minimum: Int = standardMinimum, otherwise: Int? = nil) {
      self.measure = measure
      self.minimum = minimum
      self.otherwise = otherwise
    }
  }

  /// One stage, and what its gate asks for.
  public struct Stage: Sendable, Equatable {
    /// Who is in it.
    public var members: Members
    /// The least time between its last outcome and the first push of the next stage, in seconds.
    public var wait: Int
    /// Whether a person has to approve the next stage.
    public var approval: Bool
    /// The share of failed pushes above which the campaign pauses; `nil` for any.
    public var mostFailures: Double?
    /// The share of its users who must have opened the push; `nil` for any.
    public var leastOpened: Double?
    /// How the variant is found that all later stages get; `nil` where no winner is chosen.
    public var winner: Winner?

    /// Memberwise.
    public init(
      _ members: Members, wait: Int = 0, approval: Bool = false, mostFailures: Double? = nil,
      leastOpened: Double? = nil, winner: Winner? = nil
    ) {
      self.members = members
      self.wait = wait
      self.approval = approval
      self.mostFailures = mostFailures
      self.leastOpened = leastOpened
      self.winner = winner
    }
  }

  /// In their order; at least one.
  public let all: [Stage]
  /// Which stage a user is in.
  public let draw: StageDraw

  /// The most stages of a job.
  public static let maximum = 8
  /// How many users a stage can list.
  public static let maximumUsers = 100
  /// Seconds that a stage can wait: up to a week, as long as results stay.
  public static let waits = 0...7 * 86_400

  /// - Parameters:
  ///   - all: the stages; at least one.
  ///   - id: the campaign's.
  public init(_ all: [Stage], campaign id: String) {
    self.all = all
    draw = StageDraw(all.map(\.members), campaign: id)
  }

  /// The place of the stage that chooses the winner; `nil` where none does.
  public var winnerPlace: Int? { all.firstIndex { $0.winner != nil } }

  /// The seconds that the campaign takes at least from its start to the start of its rest.
  ///
  /// - Parameter isLocal: whether each stage waits for the next day on which its local time comes.
  public func leastDuration(isLocal: Bool) -> Int {
    all.reduce(0) { $0 + max($1.wait, isLocal ? 86_400 : 0) }
  }

  /// The share of the users who are in a stage; 0 for a stage that lists its users.
  func share(ofStage place: Int) -> Double {
    guard place < all.count else { return 1 - all.reduce(0) { $0 + Self.share(of: $1) } }
    return Self.share(of: all[place])
  }

  private static func share(of stage: Stage) -> Double {
    if case .share(let share) = stage.members { share } else { 0 }
  }

  /// How fast a stage may be sent.
  ///
  /// What a job gives for all of its pushes is divided by the shares of the stages: each stage gets its share of a spread,
  /// and of the time until `finishBy` that the waits leave. A stage that lists its users is sent at once.
  ///
  /// - Parameters:
  ///   - rate: of the job.
  ///   - place: of the stage.
  ///   - start: when the stage begins, in UNIX seconds.
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
  /// In a sentence, such as `2 users, 5m later 5 % of the users, 30m later the rest`.
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
