/// Gate after a stage: decides whether the next stage begins. Pure: the caller supplies the counts and the time.
public struct StageGate: Sendable {
  /// Results of the stage before the gate.
  public struct Finding: Sendable, Equatable {
    /// Time when all targets of the stage had an outcome, in ms since the epoch; `nil` before that time.
    public var finishedAt: Int?
    /// Outcomes of the pushes of each leg, with the name of its push service.
    public var legs: [(name: String, outcomes: [Outcome: Int])]
    /// Number of users with at least one target; `nil` if unknown.
    public var users: Int?
    /// Number of users who opened the push.
    public var opened: Int
    /// For each variant, the number of measured events and the number of pushes, in all stages so far.
    public var variants: (counted: [Int], of: [Int])
    /// Position of the variant that an operator chose; `nil` for none.
    public var winner: Int?
    /// Whether an operator resumed or approved the campaign after the gate had paused it.
    public var isOverridden: Bool

    /// Creates an instance with these values.
    public init(
      finishedAt: Int?, legs: [(name: String, outcomes: [Outcome: Int])] = [], users: Int? = nil, opened: Int = 0,
      variants: (counted: [Int], of: [Int]) = ([], []), winner: Int? = nil, isOverridden: Bool = false
    ) {
      self.finishedAt = finishedAt
      self.legs = legs
      self.users = users
      self.opened = opened
      self.variants = variants
      self.winner = winner
      self.isOverridden = isOverridden
    }

    public static func == (left: Finding, right: Finding) -> Bool {
      left.finishedAt == right.finishedAt && left.legs.elementsEqual(right.legs, by: ==)
        && left.users == right.users && left.opened == right.opened && left.variants == right.variants
        && left.winner == right.winner && left.isOverridden == right.isOverridden
    }
  }

  /// Decision of the gate.
  public enum Verdict: Sendable, Equatable {
    /// The stage has targets without an outcome.
    case unfinished
    /// The wait ends at this time, in ms since the epoch.
    case wait(until: Int)
    /// The next stage begins.
    ///
    /// - Parameter winner: the position of the variant that all later stages get; `nil` if the gate chooses none.
    case open(winner: Int?)
    /// The campaign pauses for the given reason, and an operator decides.
    case pause(String, needsApproval: Bool)
  }

  private let stage: CampaignStages.Stage
  private let number: Int
  private let campaign: String
  private let variants: CampaignVariants?

  /// - Parameters:
  ///   - place: position of the stage before the gate, from 0.
  ///   - campaign: a campaign with stages.
  /// - Returns: `nil` if no gate follows the stage.
  public init?(behind place: Int, of campaign: Campaign) {
    guard let stages = campaign.delivery.stages, stages.all.indices.contains(place) else { return nil }
    stage = stages.all[place]
    number = place + 1
    self.campaign = campaign.whole
    variants = campaign.message.variants
  }

  /// Decides whether the next stage begins.
  ///
  /// - Parameter now: ms since the epoch.
  public func verdict(_ finding: Finding, now: Int) -> Verdict {
    guard let finishedAt = finding.finishedAt else { return .unfinished }
    let due = finishedAt + stage.wait * 1000
    guard now >= due else { return .wait(until: due) }
    let winner = self.winner(finding)
    if finding.isOverridden { return .open(winner: winner.place) }
    let reasons = [failures(finding), opens(finding), winner.reason].compactMap(\.self)
    guard reasons.isEmpty, !stage.approval else {
      let nextStep =
        stage.approval
        ? "`carillon campaign approve \(campaign) --by NAME` starts the next stage"
        : "`carillon campaign resume \(campaign)` starts the next stage anyway"
      let what = reasons.isEmpty ? ["it needs approval"] : reasons
      return .pause(
        "stage \(number): \(what.joined(separator: "; ")); \(nextStep)", needsApproval: stage.approval)
    }
    return .open(winner: winner.place)
  }

  /// Returns three numbers of pushes: accepted, failed, and the sum of both and of the pushes to devices that are gone.
  private static func answers(_ outcomes: [Outcome: Int]) -> (reached: Int, failed: Int, all: Int) {
    let failed = outcomes.reduce(0) { $0 + ($1.key.isRefusal ? $1.value : 0) }
    let reached = outcomes[.accepted] ?? 0
    let gone = (outcomes[.unregistered] ?? 0) + (outcomes[.expiredToken] ?? 0)
    return (reached, failed, reached + failed + gone)
  }

  private func failures(_ finding: Finding) -> String? {
    guard let most = stage.maximumFailures else { return nil }
    let legs = finding.legs.map { (name: $0.name, answers: Self.answers($0.outcomes)) }.filter { $0.answers.all > 0 }
    guard !legs.isEmpty else { return "no push of the stage was answered, so the share of failures is unknown" }
    // Each leg is checked separately, because the failures of a small leg would hardly change the sum of all legs.
    let bad = legs.filter { Double($0.answers.failed) > most * Double($0.answers.all) }
    guard !bad.isEmpty else { return nil }
    let counts = bad.map { leg in
      "\(leg.answers.failed) of \(leg.answers.all) pushes\(leg.name.isEmpty ? "" : " to \(leg.name)") failed"
    }
    return "\(counts.joined(separator: " and ")), more than \(Self.percent(most)); see "
      + "`carillon results export \(campaign)`"
  }

  private func opens(_ finding: Finding) -> String? {
    guard let least = stage.minimumOpened else { return nil }
    let accepted = finding.legs.reduce(0) { $0 + Self.answers($1.outcomes).reached }
    // A user with several devices gets several pushes but counts once.
    let reached = min(accepted, finding.users ?? accepted)
    guard reached > 0 else { return "no push of the stage was accepted, so no user can have opened it" }
    guard Double(finding.opened) < least * Double(reached) else { return nil }
    return "\(finding.opened) of \(reached) users have opened it, less than \(Self.percent(least))"
  }

  /// Returns the winner, or the reason why an operator must choose it.
  private func winner(_ finding: Finding) -> (place: Int?, reason: String?) {
    guard let winner = stage.winner, let variants else { return (nil, nil) }
    if let place = finding.winner { return (place, nil) }
    switch variants.verdict(
      winner, counted: finding.variants.counted, of: finding.variants.of, isOverridden: finding.isOverridden)
    {
    case .winner(let place): return (place, nil)
    case .unclear(let reason):
      return (nil, reason + "; `carillon campaign decide \(campaign) VARIANT` chooses a winner")
    }
  }

  /// Returns a share for people: `2.5 %`.
  static func percent(_ share: Double) -> String {
    let tenths = Int((share * 1000).rounded())
    return tenths % 10 == 0 ? "\(tenths / 10) %" : "\(tenths / 10).\(tenths % 10) %"
  }
}
