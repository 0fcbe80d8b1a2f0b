public import CampaignStore
import PushCore

/// Number of workers that the remaining pushes need, for autoscaling. Pure.
///
/// The remaining targets of a campaign are estimated: the number of its unfinished slices, multiplied by the average
/// size of its finished slices. Slices that only wait for retries need no worker. A campaign with a rate needs only as
/// many workers as its rate requires. The number is never higher than the number of slices, because further workers
/// would have no work. While a push service does not work, the number does not change, because more workers would only
/// add load.
public struct WantedWorkers: Sendable, Equatable {
  public var workers: Int
  public var live: Int
  /// Estimated number of remaining targets.
  public var remaining: Int
  /// Reason for the number, for operators.
  public var reason: String

  /// Assumed number of targets of a slice if no slice is finished: the size in a store with the standard number of
  /// partitions and a few million users.
  private static let unknownSlice = 10_000

  /// Computes the number of workers from a snapshot of the fleet.
  ///
  /// - Parameters:
  ///   - perSecond: pushes per second of one worker.
  ///   - seconds: time in which the remaining targets should be sent.
  public init(_ fleet: FleetSnapshot, perSecond: Int = 5000, seconds: Int = 60) {
    live = fleet.presence.live
    remaining = 0
    var (slices, pace) = (0, 0.0)
    for campaign in fleet.running.campaigns {
      let record = campaign.record
      guard record.state == .active else { continue }
      let unfinished = max(0, record.slices.total - record.slices.finished)
      slices += unfinished
      let each =
        record.slices.finished > 0 ? max(1, record.counters.targets / record.slices.finished) : Self.unknownSlice
      remaining += unfinished * each
      pace += min(
        Double(unfinished * each) / Double(seconds),
        Self.limit(of: record.delivery.rate, whole: record.slices.total * each, left: unfinished * each, at: fleet.at))
    }
    // The list of parked slices does not show the campaign of each slice. So each parked slice counts with the average
    // size of all slices.
    let parked = min(slices, fleet.queues.parked.lag(at: fleet.at) > 0 ? 0 : fleet.queues.parked.count)
    if slices > 0 {
      remaining = remaining * (slices - parked) / slices
      pace *= Double(slices - parked) / Double(slices)
    }
    let isServiceStuck = fleet.presence.workers.contains { worker in
      worker.isAlive && worker.report?.pools.contains { $0.health != "credentialStopped" && $0.isStuck } ?? false
    }
    let isBeginning =
      fleet.queues.intake.count > 0 || fleet.queues.scheduled.next.map { $0 - fleet.at < seconds * 1000 } ?? false
    let needed = Int((pace / Double(perSecond)).rounded(.up))
    let capped = min(needed, slices - parked)
    if isServiceStuck, live > 0, slices > 0 {
      (workers, reason) = (live, "unchanged while a push service does not work")
    } else if capped > 0 {
      workers = capped
      reason =
        capped < needed
        ? "one worker per remaining slice"
        : "\(remaining) targets in \(seconds) s, at \(perSecond) pushes per second per worker"
    } else if slices > 0 || isBeginning {
      (workers, reason) = (1, slices > 0 ? "all remaining slices wait for retries" : "a campaign is about to start")
    } else {
      (workers, reason) = (0, "no targets are left to send")
    }
  }

  /// Returns how many pushes per second the rate of a campaign allows.
  ///
  /// - Parameters:
  ///   - whole: the campaign's targets.
  ///   - left: the campaign's remaining targets.
  private static func limit(of rate: CampaignRate?, whole: Int, left: Int, at now: Int) -> Double {
    switch rate {
    case .perSecond(let rate)?: rate
    case .over(let span)?: Double(whole) / Double(max(1, span))
    // After its end time the campaign has no limit.
    case .until(let end)?: end > now ? Double(left) * 1000 / Double(end - now) : .infinity
    case nil: .infinity
    }
  }
}
