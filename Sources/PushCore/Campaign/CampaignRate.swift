/// Maximum rate of a campaign, for all workers together.
public enum CampaignRate: Sendable, Equatable {
  /// Pushes per second.
  case perSecond(Double)
  /// Pushes are spread evenly over this number of seconds.
  case over(seconds: Int)
  /// The pushes are spread so that all of them are sent by this time, in ms since the epoch.
  case until(milliseconds: Int)

  /// Maximum allowed rate in pushes per second, more than any fleet can send.
  public static let maximum = 1_000_000.0

  /// Allowed values of `spread` in seconds: up to a week, the default time for which results are kept.
  public static let spreads = 1...7 * 86400

  /// Description of a valid rate, for error messages.
  public static let form = "a number above 0, and at most 1,000,000: pushes per second of all workers together"

  /// Returns whether this number of pushes per second is a valid rate.
  public static func isValid(_ perSecond: Double) -> Bool { perSecond > 0 && perSecond <= maximum }

  /// Returns a rate as text for people, rounded to a thousandth of a push per second.
  public static func format(_ perSecond: Double) -> String {
    let thousandths = (perSecond * 1000).rounded() / 1000
    guard thousandths > 0 else { return "\(perSecond)" }
    return thousandths == thousandths.rounded() ? "\(Int(thousandths))" : "\(thousandths)"
  }
}

extension JobFields {
  private static var rates: [String] { ["rate", "spread", "finishBy"] }

  /// Returns the rate in a job; `nil` if the job has none.
  ///
  /// - Parameter sendAt: start of the campaign in ms since the epoch; `nil` for immediately.
  func rate(sendAt: Int?) throws(JobError) -> CampaignRate? {
    let given = Self.rates.filter { value($0) != nil }
    guard given.count <= 1 else {
      throw error(
        given[1], "can't be combined with \(given[0])", hint: "use only one of rate, spread and finishBy"
      )
    }
    if let value = value("rate") {
      guard case .number(let text) = value.kind, let rate = Double(text), CampaignRate.isValid(rate) else {
        throw error("rate", "must be \(CampaignRate.form)", hint: "omit it for no limit")
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
      throw error("finishBy", "is not after sendAt", hint: "omit it for no limit")
    }
    return .until(milliseconds: instant)
  }
}
