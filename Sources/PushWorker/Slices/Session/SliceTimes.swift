import CampaignStore
import PushCore

/// When the targets of a slice may be sent, and what becomes of one that is granted. Pure; time is an argument.
///
/// Redis grants none before its time. What is left to be seen here is what time it has become since: a quiet one, or too
/// late.
struct SliceTimes {
  /// What becomes of a target.
  enum Fate: Equatable {
    case send
    /// Its outcome is `expired`.
    case expire
    /// It is granted again in so many ms.
    case hold(milliseconds: Int)
  }

  private let times: SendTimes
  private let timing: TargetTiming
  private let rules: [ZoneRules]
  private let campaign: Campaign
  /// When the campaign began, in ms since the epoch.
  private let start: Int
  /// That of the campaign, in UNIX seconds; 0 for one attempt, `nil` for none.
  private let expiration: Int?
  /// Of each zone when its quiet time ends, if it has one, as it was in that second.
  private var quiet: [(second: Int, end: Int?)]

  /// - Parameters:
  ///   - times: of the slice.
  ///   - zones: what the system knows. Of a zone that another worker knew, and this one does not, the default one's
  ///     clocks count.
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

  /// What is to become of a target that could be sent now.
  ///
  /// - Parameter now: ms since the epoch.
  mutating func fate(of index: Int, now: Int) -> Fate {
    let step = times.step(of: index)
    let end = step.zone.flatMap { quietEnd(zone: $0, now: now) }
    guard !step.isDropped else { return .expire }
    let deadline = deadline(of: step).map { $0 * 1000 } ?? .max
    guard deadline > now else { return .expire }
    guard let end else { return .send }
    guard timing.timing.quietHours?.fate == .hold, deadline > end else { return .expire }
    return .hold(milliseconds: end - now)
  }

  /// How many targets from one on, before another, can't be sent now: what becomes of them is the same for all.
  mutating func blocked(from index: Int, before end: Int, now: Int) -> Int {
    fate(of: index, now: now) == .send ? 0 : min(times.next(after: index) ?? end, end) - index
  }

  /// How many of so many targets wait for their own time.
  func later(of count: Int, now: Int) -> Int { count - (times.ready(at: now) ?? count) }

  /// UNIX seconds from which on a target is not sent any more; `nil` for never.
  func deadline(of index: Int) -> Int? { deadline(of: times.step(of: index)) }

  /// UNIX seconds until which the push service may deliver a target; 0 for one attempt, `nil` for no limit. A duration
  /// counts from its own time.
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
