import CampaignStore
import PushCore

/// Send times of a slice's targets, and the decision about a granted target. Pure: time is an argument.
///
/// Redis grants no target before its send time. This type checks for changes since the grant: a quiet time may have
/// begun, or the deadline may have passed.
struct SliceTimes {
  /// The decision about a target.
  enum Decision: Equatable {
    case send
    /// The target ends with the outcome `expired`.
    case expire
    /// The target is not sent now. It may be granted again after this many ms.
    case hold(milliseconds: Int)
  }

  private let times: SendTimes
  private let timing: TargetTiming
  private let rules: [ZoneRules]
  private let campaign: Campaign
  /// Start of the campaign, in ms since the epoch.
  private let start: Int
  /// Expiration of the campaign, in UNIX seconds; 0 for one delivery attempt, `nil` for none.
  private let expiration: Int?
  /// The last calculation for each zone: its time in UNIX seconds, and the end of the quiet hours if that time was in
  /// quiet hours.
  private var quiet: [(second: Int, end: Int?)]

  /// - Parameters:
  ///   - times: Send times of the slice.
  ///   - zones: Time zones of the system. If this machine does not know a zone that another worker knew, the zone gets
  ///     the rules of the default zone.
  init(_ times: SendTimes, of campaign: Campaign, start: Int, expiration: Int?, zones: ZoneDatabase) {
    self.times = times
    self.campaign = campaign
    self.start = start
    self.expiration = expiration
    timing = TargetTiming(campaign.delivery.timing, start: start)
    // A worker takes no campaign whose default zone it does not know (`CampaignContextFactory`).
    rules = times.zones.map { zones.rules($0) ?? zones.rules(campaign.delivery.timing.defaultZone) ?? .utc }
    quiet = rules.map { _ in (.min, nil) }
  }

  /// Returns the decision about a target that could be sent now.
  ///
  /// - Parameter now: ms since the epoch.
  mutating func decision(of index: Int, now: Int) -> Decision {
    let step = times.step(of: index)
    let end = step.zone.flatMap { quietEnd(zone: $0, now: now) }
    guard !step.isDropped else { return .expire }
    let deadline = deadline(of: step).map { $0 * 1000 } ?? .max
    guard deadline > now else { return .expire }
    guard let end else { return .send }
    guard timing.timing.quietHours?.handling == .hold, deadline > end else { return .expire }
    return .hold(milliseconds: end - now)
  }

  /// Returns how many consecutive targets, from `index` on and before `end`, can't be sent now. All of them get the
  /// same decision.
  mutating func blocked(from index: Int, before end: Int, now: Int) -> Int {
    decision(of: index, now: now) == .send ? 0 : min(times.next(after: index) ?? end, end) - index
  }

  /// Returns how many of the first `count` targets wait for their own send time.
  func later(of count: Int, now: Int) -> Int { count - (times.ready(at: now) ?? count) }

  /// Returns the time after which a target is not sent any more, in UNIX seconds; `nil` for no limit.
  func deadline(of index: Int) -> Int? { deadline(of: times.step(of: index)) }

  /// Returns the time until which the push service may deliver a target, in UNIX seconds; 0 for one delivery attempt,
  /// `nil` for no limit. A duration counts from the target's own send time.
  func expiration(of index: Int) -> Int? { expiration(of: times.step(of: index)) }

  private func expiration(of step: SendTimes.Step) -> Int? {
    guard case .after(let seconds) = campaign.message.expiration else { return expiration }
    return (step.due > 0 ? step.due : start) / 1000 + seconds
  }

  private func deadline(of step: SendTimes.Step) -> Int? {
    let last = timing.timing.deadline(start: start / 1000, due: step.due > 0 ? step.due / 1000 : nil)
    let expiration = expiration(of: step)
    return [last, expiration == 0 ? nil : expiration].compactMap(\.self).min()
  }

  private mutating func quietEnd(zone: Int, now: Int) -> Int? {
    let second = now / 1000
    if quiet[zone].second != second { quiet[zone] = (second, timing.quietEnd(in: rules[zone], now: now)) }
    return quiet[zone].end
  }
}
