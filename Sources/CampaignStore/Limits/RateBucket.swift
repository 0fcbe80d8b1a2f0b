public import PushCore
import Redis

/// Whose pushes a rate is for.
public enum RateSubject: Hashable, Sendable {
  /// Those of one campaign, by its id.
  case campaign(String)
  /// Those of all campaigns of an app, by its name.
  case app(String)
  /// Those of an app's campaigns that go by how its own backend is, by the app's name.
  case backend(String)
}

/// What a worker is lent of a rate.
public struct RateAnswer: Sendable, Equatable {
  /// Pushes.
  public var lent: Int
  /// µs until another one's time has come: asking earlier is for nothing.
  public var wait: Int
  /// Pushes a second of the fleet, as the rate is now.
  public var perSecond: Double

  /// Memberwise.
  public init(lent: Int, wait: Int, perSecond: Double) {
    self.lent = lent
    self.wait = wait
    self.perSecond = perSecond
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
  /// Seconds likewise, where it knows how much was sent of a campaign: a pause is shorter, or the campaign begins anew.
  static let longestMemory = 8 * 86400
}

extension Limits {
  /// Lends a worker pushes, and takes back what it was lent and has not sent.
  ///
  /// Not idempotent: should the reply get lost, what was lent with it is lost, and missed until it is caught up.
  ///
  /// - Parameters:
  ///   - rate: of the subject; one that follows from a time is a campaign's.
  ///   - wanted: pushes that could be sent in a slice of time; 0 only gives back.
  ///   - returned: lent earlier, and not sent.
  ///   - known: slices of the campaign that the worker has in hand and knows the targets of, and these. Of those that are
  ///     finished the store knows.
  public func lend(
    _ wanted: Int, of subject: RateSubject, at rate: CampaignRate, returned: Int,
    known: (slices: Int, targets: Int) = (0, 0)
  ) async throws -> RateAnswer {
    var names: [String]
    switch subject {
    case .campaign(let id): names = [keys.rate(campaign: id), keys.campaign(id)]
    case .app(let name): names = [keys.rate(app: name)]
    case .backend(let name): names = [keys.backendRate(app: name)]
    }
    if case .perSecond = rate { names = [names[0]] }
    var pipeline = RedisPipeline()
    pipeline.script(StoreScripts.rate, keys: names) { RateBucket.write(wanted, rate, returned, known, to: &$0) }
    let reply = try await run(pipeline)[0]
    guard let answer = RateBucket.answer(reply), 0...max(0, wanted) ~= answer.lent, answer.wait >= 0 else {
      throw StoreError(.refused, "the script of rates answered \(reply)", hint: "report this: it is a defect")
    }
    return answer
  }
}

extension RateBucket {
  /// Writes the script's arguments.
  static func write(
    _ wanted: Int, _ rate: CampaignRate, _ returned: Int, _ known: (slices: Int, targets: Int),
    to arguments: inout RedisArguments
  ) {
    var (perSecond, spread, end) = ("", "", "")
    var memory = shortestMemory
    switch rate {
    case .perSecond(let rate): perSecond = "\(rate)"
    case .over(let seconds): (spread, memory) = ("\(seconds * 1_000_000)", longestMemory)
    case .until(let milliseconds): (end, memory) = ("\(milliseconds)", longestMemory)
    }
    arguments.append(perSecond)
    arguments.append(wanted)
    arguments.append(returned)
    arguments.append(slice)
    arguments.append(burst)
    arguments.append(Self.memory)
    arguments.append(memory * 1000)
    guard perSecond.isEmpty else { return }
    arguments.append(spread)
    arguments.append(end)
    arguments.append(known.slices)
    arguments.append(known.targets)
  }

  static func answer(_ reply: RedisReply) -> RateAnswer? {
    guard reply.count == 3, let lent = reply[0].integer, let wait = reply[1].integer,
      let interval = reply[2].string.flatMap(Double.init)
    else { return nil }
    return RateAnswer(lent: lent, wait: wait, perSecond: interval > 0 ? 1_000_000 / interval : 0)
  }
}
