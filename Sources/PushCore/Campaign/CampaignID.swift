/// Id of a campaign or of one of its parts.
///
/// A producer chooses the id of a job from `A-Za-z0-9._-`. An id that Carillon derives contains a `~`, which a
/// producer's id can't contain: a run of a recurring job (`digest~20261201T0900`) and a part (`sale~1`, `sale~rest`).
public struct CampaignID: Hashable, Sendable, CustomStringConvertible {
  /// Separator between the id of a campaign and the derived suffix.
  public static let separator: Character = "~"

  /// Id of the whole campaign.
  public let whole: String
  /// Part of the campaign; `nil` for the campaign itself.
  public let part: CampaignPart?

  /// Creates an instance with these values.
  public init(whole: String, part: CampaignPart? = nil) {
    self.whole = whole
    self.part = part
  }

  /// Splits an id at its last separator. If no part has the name after the separator, the text is the id of a whole
  /// campaign.
  public init(_ text: String) {
    guard let place = text.lastIndex(of: Self.separator), let part = CampaignPart(text[text.index(after: place)...])
    else {
      self.init(whole: text)
      return
    }
    self.init(whole: String(text[..<place]), part: part)
  }

  public var description: String { part.map { "\(whole)\(Self.separator)\($0)" } ?? whole }

  /// Returns whether a text can be the id of a campaign: a producer's id, or the id of a run of a recurring job.
  public static func isValid(_ text: String) -> Bool {
    let names = text.split(separator: separator, omittingEmptySubsequences: false).map(String.init)
    return (names.count == 1 || names.count == 2 && names[1].utf8.count == Repetition.suffixLength - 1)
      && names.allSatisfy(PlainName.isValid) && CampaignID(text).part == nil
  }

  /// Description of a campaign's id, for error messages.
  public static let form = "the id of a campaign, as in its job; of a run of a recurring job, ID~TIME"
}

/// Part of a campaign: the pushes of one stage to the devices of one push service, or a companion of these pushes.
public struct CampaignPart: Hashable, Sendable, CustomStringConvertible {
  /// Step of the delivery: a stage of the job, or the remaining users.
  public enum Stage: Hashable, Sendable {
    /// Stage of the job, from 1.
    case number(Int)
    /// Users who are in no stage of the job.
    case rest
    /// The only step of a campaign without stages.
    case main
  }

  /// Step of the delivery.
  public let stage: Stage
  /// Push service of the leg; `nil` in a campaign with one leg.
  public let service: String?
  /// Push type of the companion for the users of the stage; `nil` for the stage itself.
  public let companion: String?

  /// Creates an instance with these values.
  public init(_ stage: Stage, service: String? = nil, companion: String? = nil) {
    self.stage = stage
    self.service = service
    self.companion = companion
  }

  /// - Parameter text: the name of a part, such as `1`, `rest`, `rest-fcm`, `rest.widgets`, `rest-apns.widgets`.
  /// - Returns: `nil` for a text that does not name a part.
  public init?(_ text: some StringProtocol) {
    let names = text.split(separator: ".", maxSplits: 1, omittingEmptySubsequences: false)
    let leg = names[0].split(separator: "-", maxSplits: 1, omittingEmptySubsequences: false)
    switch leg[0] {
    case "rest": stage = .rest
    case "main": stage = .main
    default:
      guard let number = Int(leg[0]), 1...CampaignStages.maximum ~= number, "\(number)" == leg[0] else {
        return nil
      }
      stage = .number(number)
    }
    service = leg.count > 1 ? String(leg[1]) : nil
    companion = names.count > 1 ? String(names[1]) : nil
    guard service?.isEmpty != true, companion?.isEmpty != true else { return nil }
  }

  public var description: String {
    let name =
      switch stage {
      case .number(let number): "\(number)"
      case .rest: "rest"
      case .main: "main"
      }
    return name + (service.map { "-\($0)" } ?? "") + (companion.map { ".\($0)" } ?? "")
  }

  /// Whether this is a stage itself, and not a companion.
  public var isStage: Bool { companion == nil }
}

extension Campaign {
  /// Id of the whole campaign, also for a part.
  public var whole: String { CampaignID(id).whole }

  /// Parts that the job creates, in the order of the stages; each leg of a stage comes before its companions. Empty if
  /// the job creates a campaign without parts.
  public var parts: [CampaignPart] {
    guard part == nil, delivery.timing.repetition == nil,
      delivery.stages != nil || legs.count > 1 || legs.contains(where: { !$0.companions.isEmpty })
    else { return [] }
    return (0..<stageCount).flatMap { parts(ofStage: $0) }
  }

  /// Number of steps of the delivery: the stages of the job and the rest.
  public var stageCount: Int { (delivery.stages?.all.count ?? 0) + 1 }

  /// Returns the parts of one step of the delivery: its legs and their companions.
  ///
  /// - Parameter place: position of the stage, from 0; the rest follows the stages of the job.
  public func parts(ofStage place: Int) -> [CampaignPart] {
    let stage: CampaignPart.Stage =
      if let stages = delivery.stages { place < stages.all.count ? .number(place + 1) : .rest } else { .main }
    guard !legs.isEmpty else { return [CampaignPart(stage)] }
    return legs.flatMap { leg in
      let service = legs.count > 1 ? leg.service : nil
      return [CampaignPart(stage, service: service)]
        + leg.companions.map { CampaignPart(stage, service: service, companion: $0) }
    }
  }

  /// Returns the legs of one step of the delivery, without companions.
  ///
  /// - Parameter place: position of the stage, from 0; the rest follows the stages of the job.
  public func legs(ofStage place: Int) -> [CampaignPart] { parts(ofStage: place).filter(\.isStage) }

  /// Whether this is a part of the first step, or a campaign without parts.
  public var isFirstStage: Bool { part.map { index(of: $0.stage) == 0 } ?? true }

  /// Returns the position of a delivery step, from 0.
  public func index(of stage: CampaignPart.Stage) -> Int {
    switch stage {
    case .number(let number): number - 1
    case .rest: delivery.stages?.all.count ?? 0
    case .main: 0
    }
  }
}
