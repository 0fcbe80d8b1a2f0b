/// How fast a campaign may be sent, by all workers together.
public enum CampaignRate: Sendable, Equatable {
  /// Pushes a second.
  case perSecond(Double)
  /// Spread evenly over so many seconds.
  case over(seconds: Int)
  /// So that it has been sent by then, in ms since the epoch.
  case until(milliseconds: Int)

  /// The most that a rate can say, in pushes a second: no fleet comes near it.
  public static let maximum = 1_000_000.0

  /// Seconds over which pushes can be spread: up to a week, as long as results stay.
  public static let spreads = 1...7 * 86400

  /// What a rate has to be, for messages.
  public static let form = "a number above 0, and at most 1,000,000: pushes a second, of all workers together"

  /// Whether this many pushes a second can be a rate.
  public static func isValid(_ perSecond: Double) -> Bool { perSecond > 0 && perSecond <= maximum }

  /// Pushes a second as people read them: no more digits than say something.
  public static func format(_ perSecond: Double) -> String {
    let thousandths = (perSecond * 1000).rounded() / 1000
    guard thousandths > 0 else { return "\(perSecond)" }
    return thousandths == thousandths.rounded() ? "\(Int(thousandths))" : "\(thousandths)"
  }
}

extension JobFields {
  private static var rates: [String] { ["rate", "spread", "finishBy"] }

  /// How fast the campaign may be sent; `nil` where the job doesn't say.
  ///
  /// - Parameter sendAt: when the campaign begins, in ms since the epoch; `nil` for at once.
  func rate(sendAt: Int?) throws(JobError) -> CampaignRate? {
    let given = Self.rates.filter { value($0) != nil }
    guard given.count <= 1 else {
      throw error(
        given[1], "stands beside \(given[0])", hint: "each of rate, spread and finishBy says how fast: give one of them"
      )
    }
    if let value = value("rate") {
      guard case .number(let text) = value.kind, let rate = Double(text), CampaignRate.isValid(rate) else {
        throw error("rate", "must be \(CampaignRate.form)", hint: "leave it out for as fast as it goes")
      }
      return .perSecond(rate)
    }
    if let text = try string("spread") {
      guard let seconds = DurationText.seconds(text), CampaignRate.spreads.contains(seconds) else {
        throw error(
          "spread", "\(Excerpt.quoted(text)) is not a duration from 1s to 7d", hint: "it must be \(DurationText.form)")
      }
      return .over(seconds: seconds)
    }
    guard let text = try string("finishBy") else { return nil }
    guard let instant = Timestamp.milliseconds(text) else {
      throw error("finishBy", "\(Excerpt.quoted(text)) is not an instant", hint: "it must be \(Timestamp.form)")
    }
    if let sendAt, instant <= sendAt {
      throw error("finishBy", "is not after sendAt", hint: "leave it out for as fast as it goes")
    }
    return .until(milliseconds: instant)
  }
}
