/// How fast a campaign may be sent, by all workers together.
public enum CampaignRate: Sendable, Equatable {
  /// Pushes a second.
  case perSecond(Double)

  /// The most that a rate can say, in pushes a second: no fleet comes near it.
  public static let maximum = 1_000_000.0

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
  /// How fast the campaign may be sent; `nil` where the job doesn't say.
  func rate() throws(JobError) -> CampaignRate? {
    guard let value = value("rate") else { return nil }
    guard case .number(let text) = value.kind, let rate = Double(text), CampaignRate.isValid(rate) else {
      throw error("rate", "must be \(CampaignRate.form)", hint: "leave it out for as fast as it goes")
    }
    return .perSecond(rate)
  }
}
