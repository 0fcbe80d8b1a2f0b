import Redis

/// Whose pushes a rate is for.
public enum RateSubject: Hashable, Sendable {
  /// Those of one campaign, by its id.
  case campaign(String)
  /// Those of all campaigns of an app, by its name.
  case app(String)
}

/// What a worker is lent of a rate.
public struct RateAnswer: Sendable, Equatable {
  /// Pushes.
  public var lent: Int
  /// µs until another one's time has come: asking earlier is for nothing.
  public var wait: Int

  /// Memberwise.
  public init(lent: Int, wait: Int) {
    self.lent = lent
    self.wait = wait
  }
}

/// A rate over the whole fleet: a bucket in Redis, out of which workers are lent what they may send in the next moment. Its
/// clock is Redis' own.
///
/// The fleet sends at most 1.02 times the rate and a burst: what the bucket may have gathered, and what workers may hold
/// for a moment, together a quarter of a second's worth or one push. The two hundredths are for what was missed.
public enum RateBucket {
  /// µs: how often a worker asks, and for how long it is lent pushes.
  public static let slice = 125_000
  /// µs' worth of pushes that the bucket gathers while nobody asks: a slice, and how late a worker may come.
  public static let burst = 175_000
  /// µs' worth of pushes that may be caught up, when nobody could ask: what a failover takes.
  public static let memory = 5_000_000
  /// Seconds that a bucket is kept when nobody asks, besides the time of two pushes. Longer than what it can remember.
  static let shortestMemory = 60
}

extension CampaignStore {
  /// Lends a worker pushes, and takes back what it was lent and has not sent.
  ///
  /// Not idempotent: should the reply get lost, what was lent with it is lost, and missed until it is caught up.
  ///
  /// - Parameters:
  ///   - perSecond: the rate, see ``CampaignRate/isValid(_:)``.
  ///   - wanted: pushes that could be sent in a slice of time; 0 only gives back.
  ///   - returned: lent earlier, and not sent.
  public func lend(
    _ wanted: Int, of subject: RateSubject, perSecond: Double, returned: Int
  ) async throws -> RateAnswer {
    let key =
      switch subject {
      case .campaign(let id): keys.rate(campaign: id)
      case .app(let name): keys.rate(app: name)
      }
    var pipeline = RedisPipeline()
    pipeline.script(StoreScripts.rate, keys: [key]) {
      $0.append("\(perSecond)")
      $0.append(wanted)
      $0.append(returned)
      $0.append(RateBucket.slice)
      $0.append(RateBucket.burst)
      $0.append(RateBucket.memory)
      $0.append(RateBucket.shortestMemory * 1000)
    }
    let reply = try await run(pipeline)[0]
    guard reply.count == 2, let lent = reply[0].integer, let wait = reply[1].integer, 0...max(0, wanted) ~= lent,
      wait >= 0
    else { throw StoreError(.refused, "the script of rates answered \(reply)", hint: "report this: it is a defect") }
    return RateAnswer(lent: lent, wait: wait)
  }
}
