/// The id of a campaign, or of one of its parts.
///
/// A producer chooses the id of a job from `A-Za-z0-9._-`. Whatever Carillon derives from a job has an id with a `~`, which
/// no producer's id may contain: a run of a repeated job (`digest~20261201T0900`) and a part (`sale~1`, `sale~rest`).
public struct CampaignID: Hashable, Sendable, CustomStringConvertible {
  /// Stands between the id of a campaign and the name of what is derived from it.
  public static let separator: Character = "~"

  /// The id of the campaign.
  public let whole: String
  /// Which part of the campaign it is; `nil` for the campaign itself.
  public let part: CampaignPart?

  /// Memberwise.
  public init(whole: String, part: CampaignPart? = nil) {
    self.whole = whole
    self.part = part
  }

  /// Splits an id at its last separator. An id without the name of a part is that of a campaign.
  public init(_ text: String) {
    guard let place = text.lastIndex(of: Self.separator), let part = CampaignPart(text[text.index(after: place)...])
    else {
      self.init(whole: text)
      return
    }
    self.init(whole: String(text[..<place]), part: part)
  }

  public var description: String { part.map { "\(whole)\(Self.separator)\($0)" } ?? whole }

  /// Whether a text can be the id of a campaign: a producer's, or that of a run of a repeated job.
  public static func isValid(_ text: String) -> Bool {
    let names = text.split(separator: separator, omittingEmptySubsequences: false).map(String.init)
    return (names.count == 1 || names.count == 2 && names[1].utf8.count == Repetition.suffixLength - 1)
      && names.allSatisfy(PlainName.isValid) && CampaignID(text).part == nil
  }

  /// The form of a campaign's id, for messages.
  public static let form = "the id of a campaign, as in its job; of a run of a repeated job, ID~TIME"
}

/// Which part of its campaign a record is.
public struct CampaignPart: Hashable, Sendable, CustomStringConvertible {
  /// A step of the delivery.
  public enum Stage: Hashable, Sendable {
    /// A stage of the job, from 1.
    case number(Int)
    /// Everybody whom no stage of the job has.
    case rest
    /// The only step of a campaign without stages.
    case main
  }

  /// The step of the delivery.
  public let stage: Stage
  /// The push type of the companion that goes to the users of the stage; `nil` for the stage itself.
  public let companion: String?

  /// Memberwise.
  public init(_ stage: Stage, companion: String? = nil) {
    self.stage = stage
    self.companion = companion
  }

  /// - Parameter text: such as `1`, `rest`, `rest.widgets`.
  /// - Returns: `nil` for a text that names no part.
  public init?(_ text: some StringProtocol) {
    let names = text.split(separator: ".", maxSplits: 1, omittingEmptySubsequences: false)
    switch names[0] {
    case "rest": stage = .rest
    case "main": stage = .main
    default:
      guard let number = Int(names[0]), 1...CampaignStages.maximum ~= number, "\(number)" == names[0] else {
        return nil
      }
      stage = .number(number)
    }
    companion = names.count > 1 ? String(names[1]) : nil
    guard companion?.isEmpty != true else { return nil }
  }

  public var description: String {
    let name =
      switch stage {
      case .number(let number): "\(number)"
      case .rest: "rest"
      case .main: "main"
      }
    return name + (companion.map { ".\($0)" } ?? "")
  }

  /// Whether it is a stage itself, and not a companion.
  public var isStage: Bool { companion == nil }
}

extension Campaign {
  /// The id of the campaign that it is, or that it is a part of.
  public var whole: String { CampaignID(id).whole }

  /// The parts that its job makes, in the order of the stages, each stage before its companions; none where the job makes a
  /// campaign that is sent itself.
  public var parts: [CampaignPart] {
    guard part == nil, delivery.timing.repetition == nil, delivery.stages != nil || !message.also.isEmpty else {
      return []
    }
    return (0..<stageCount).flatMap { parts(ofStage: $0) }
  }

  /// How many steps its delivery has: the stages of the job and the rest.
  public var stageCount: Int { (delivery.stages?.all.count ?? 0) + 1 }

  /// The parts of one step of the delivery: the stage, and its companions.
  ///
  /// - Parameter place: of the stage, from 0; behind the stages of the job stands the rest.
  public func parts(ofStage place: Int) -> [CampaignPart] {
    let stage: CampaignPart.Stage =
      if let stages = delivery.stages { place < stages.all.count ? .number(place + 1) : .rest } else { .main }
    return [CampaignPart(stage)] + message.also.map { CampaignPart(stage, companion: $0) }
  }

  /// The place of a step of its delivery, from 0.
  public func place(of stage: CampaignPart.Stage) -> Int {
    switch stage {
    case .number(let number): number - 1
    case .rest: delivery.stages?.all.count ?? 0
    case .main: 0
    }
  }
}
