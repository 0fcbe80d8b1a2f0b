public import PushCore
import Redis

/// The pushes to which a rate applies.
public enum RateSubject: Hashable, Sendable {
  /// The pushes of one campaign, by its id.
  case campaign(String)
  /// The pushes of all campaigns of an app to a push service, by the app's name.
  case app(String, service: String)
  /// The pushes of an app's campaigns that depend on the health of the app's backend, by the app's name.
  case backend(String)
  /// The pushes of all apps that share a quota of a push service.
  case quota(ServiceQuota)
}

/// A worker's report that a push service refused many pushes because a quota was exceeded.
public struct QuotaReport: Sendable, Equatable {
  /// Limit in pushes per minute that the service named; `nil` if it named none.
  public var perMinute: Int?

  /// Creates a report.
  public init(perMinute: Int? = nil) { self.perMinute = perMinute }
}

/// Reply to a worker that asks a token bucket for permits.
public struct RateAnswer: Sendable, Equatable {
  /// Number of pushes that the worker may send.
  public var leased: Int
  /// µs until the next permit is due. An earlier request gets no permit.
  public var wait: Int
  /// Present rate of the fleet, in pushes a second.
  public var perSecond: Double

  /// Creates an answer.
  public init(leased: Int, wait: Int, perSecond: Double) {
    self.leased = leased
    self.wait = wait
    self.perSecond = perSecond
  }
}

/// A rate for the whole fleet: a token bucket in Redis that grants permits to workers. A permit allows one push in the
/// next moment. The bucket uses Redis' clock.
///
/// In any period, the fleet sends at most 1.02 times the rate, plus the pushes of 0.25 s (at least one push). The extra
/// 2 % let the fleet catch up after a delay. The 0.25 s have two causes: the bucket saves a ``burst`` of 0.175 s, and
/// workers hold permits for a moment before they use them.
///
/// The bucket of a quota (``PushCore/ServiceQuota``) also has the present limit: it rises in a slow start, and falls
/// when workers report that the service refuses pushes.
public enum RateBucket {
  /// Interval between two requests of a worker, in µs. A request gets permits for this time.
  public static let slice = 125_000
  /// Capacity of the bucket, in µs at the rate: the permits that it saves while no worker asks for permits. The
  /// capacity is one ``slice``, plus the possible delay of a worker's request.
  public static let burst = 175_000
  /// Maximum time without requests whose pushes may be caught up, in µs: the duration of a failover.
  public static let memory = 5_000_000
  /// Minimum number of seconds until an unused bucket expires. The interval between two pushes is added to this time.
  /// The result is longer than ``memory``.
  static let shortestMemory = 60
  /// Seconds until an unused bucket expires if it counts the sent pushes of a campaign. If the bucket has expired after
  /// a longer pause, the number of sent pushes is estimated.
  static let longestMemory = 8 * 86400
  /// Share of a quota that the fleet uses. The service counts the pushes of each minute, and pushes arrive with
  /// different delays. Together with ``quotaCatchUp``, the fleet sends at most 99.8 % of the quota in a minute.
  public static let quotaShare = 0.99
  /// Maximum time without requests whose pushes may be caught up under a quota, in µs.
  public static let quotaCatchUp = 500_000
  /// Seconds until the bucket of an unused quota expires. Longer than one hour, the time for which a limit that the
  /// service named is used.
  static let quotaMemory = 7200
}

extension Limits {
  /// Grants a worker permits for pushes, and takes back permits that it did not use.
  ///
  /// Not idempotent: if the reply is lost, its permits are lost too. The fleet then sends these pushes later, when it
  /// catches up.
  ///
  /// - Parameters:
  ///   - rate: rate of the subject. Only a campaign can have a rate that is computed from a duration or an end time.
  ///   - wanted: number of pushes that the worker could send in one ``RateBucket/slice``; 0 only returns permits.
  ///   - returned: earlier permits that were not used.
  ///   - known: the number of slices of the campaign that the worker holds and whose targets it knows, and the number
  ///     of these targets. The store itself knows the targets of finished slices.
  ///   - report: report of an exceeded quota, if the subject is a quota.
  public func lease(
    _ wanted: Int, of subject: RateSubject, at rate: CampaignRate, returned: Int,
    known: (slices: Int, targets: Int) = (0, 0), report: QuotaReport? = nil
  ) async throws -> RateAnswer {
    var names: [String]
    var quota: RateBucket.QuotaRequest?
    switch subject {
    case .campaign(let id): names = [keys.rate(campaign: id), keys.campaign(id)]
    case .app(let name, let service): names = [keys.rate(app: name, service: service)]
    case .backend(let name): names = [keys.backendRate(app: name)]
    case .quota(let shared):
      names = [keys.quota(shared.name)]
      quota = RateBucket.QuotaRequest(rampSeconds: shared.rampSeconds, report: report)
    }
    if case .perSecond = rate { names = [names[0]] }
    var pipeline = RedisPipeline()
    pipeline.script(StoreScripts.rate, keys: names) { RateBucket.write(wanted, rate, returned, known, quota, to: &$0) }
    let reply = try await run(pipeline)[0]
    guard let answer = RateBucket.answer(reply), 0...max(0, wanted) ~= answer.leased, answer.wait >= 0 else {
      throw StoreError(
        .refused, "the rate script returned \(reply)", hint: "this is a bug in Carillon: please report it")
    }
    return answer
  }
}

extension RateBucket {
  /// The additional arguments for a quota.
  struct QuotaRequest {
    var rampSeconds: Int
    var report: QuotaReport?
  }

  /// Writes the arguments of the script.
  static func write(
    _ wanted: Int, _ rate: CampaignRate, _ returned: Int, _ known: (slices: Int, targets: Int),
    _ quota: QuotaRequest? = nil, to arguments: inout RedisArguments
  ) {
    var (perSecond, spread, end) = ("", "", "")
    var memory = quota == nil ? shortestMemory : quotaMemory
    switch rate {
    case .perSecond(let rate): perSecond = "\(quota == nil ? rate : rate * quotaShare)"
    case .over(let seconds): (spread, memory) = ("\(seconds * 1_000_000)", longestMemory)
    case .until(let milliseconds): (end, memory) = ("\(milliseconds)", longestMemory)
    }
    arguments.append(perSecond)
    arguments.append(wanted)
    arguments.append(returned)
    arguments.append(slice)
    arguments.append(burst)
    arguments.append(quota == nil ? Self.memory : quotaCatchUp)
    arguments.append(memory * 1000)
    guard perSecond.isEmpty else {
      arguments.append(quota.map { "\($0.rampSeconds * 1_000_000)" } ?? "")
      arguments.append(quota?.report.map { "\(Double($0.perMinute ?? 0) / 60 * quotaShare)" } ?? "")
      return
    }
    arguments.append(spread)
    arguments.append(end)
    arguments.append(known.slices)
    arguments.append(known.targets)
  }

  static func answer(_ reply: RedisReply) -> RateAnswer? {
    guard reply.count == 3, let leased = reply[0].integer, let wait = reply[1].integer,
      let interval = reply[2].string.flatMap(Double.init)
    else { return nil }
    return RateAnswer(leased: leased, wait: wait, perSecond: interval > 0 ? 1_000_000 / interval : 0)
  }
}
