@testable import CampaignStore
import PushCore
import Redis
import TestKit
import TestSupport
import Testing

/// Token buckets of quotas, which apps can share.
@Suite struct QuotaTests {
  /// The script with a clock of the test's own. Seconds and µs are its last two arguments.
  private static let timed = RedisScript(
    name: "rate",
    source: StoreScripts.rate.source.replacing("redis.call('TIME')", with: "{ARGV[#ARGV - 1], ARGV[#ARGV]}"))

  /// Pushes per second of the configured limit. The fleet uses 990 of them.
  private static let full = 1000.0
  /// µs since the epoch.
  private static let start = 1_790_000_000_000_000

  /// A fleet with one quota. Each call is a request of a worker.
  private struct Fleet {
    let world: TestStore
    /// Seconds of the slow start.
    var ramp = 0
    /// Pushes per second of the configured limit.
    var full: Double

    init(on backend: Backend, ramp: Int = 0, full: Double = QuotaTests.full) async throws {
      world = try await TestStore(on: backend, partitions: 1)
      (self.ramp, self.full) = (ramp, full)
    }

    /// Asks for permits.
    ///
    /// - Parameter second: seconds since the start.
    func ask(
      _ wanted: Int = 1, at second: Double, returned: Int = 0, report: QuotaReport? = nil
    ) async throws -> RateAnswer {
      let now = QuotaTests.start + Int((second * 1_000_000).rounded())
      var pipeline = RedisPipeline()
      pipeline.script(QuotaTests.timed, keys: [world.keys.quota("fcm:p")]) {
        RateBucket.write(
          wanted, .perSecond(full), returned, (0, 0), .init(rampSeconds: ramp, report: report), to: &$0)
        $0.append(now / 1_000_000)
        $0.append(now % 1_000_000)
      }
      let reply = try #require(try await world.redis.execute(pipeline).first).get()
      return try #require(RateBucket.answer(reply))
    }

    /// Takes all permits of a period, and returns their number.
    func send(from start: Double, to end: Double) async throws -> Int {
      var leased = 0
      for slice in 0..<Int((end - start) * 8) { leased += try await ask(5000, at: start + Double(slice) / 8).leased }
      return leased
    }

    /// Returns the rate, in pushes per second, at a given second.
    func rate(at second: Double, _ report: QuotaReport? = nil) async throws -> Double {
      (try await ask(at: second, report: report).perSecond * 10).rounded() / 10
    }
  }

  @Test(arguments: Backend.allCases)
  func rateRisesLinearlyWhileTheFleetSends(on backend: Backend) async throws {
    let fleet = try await Fleet(on: backend, ramp: 60)
    expect(try await fleet.rate(at: 0), is: 99)
    var leased = 0
    for quarter in 0..<4 {
      leased += try await fleet.send(from: 15 * Double(quarter), to: 15 * Double(quarter + 1))
      let expected = 990 * (0.1 + 0.225 * Double(quarter + 1))
      let rate = try await fleet.rate(at: 15 * Double(quarter + 1))
      expect((expected * 0.97...expected).contains(rate), "\(quarter): \(rate)")
    }
    expect((31_500...32_670).contains(leased), "\(leased)")
    let more = try await fleet.send(from: 65, to: 80)
    expect((14_550...15_050).contains(more), "\(more)")
  }

  /// Two workers with Google's default quota. The fault case `fcm-quota` shows the same in real time.
  @Test(arguments: Backend.allCases)
  func twoWorkersUseAlmostTheWholeQuota(on backend: Backend) async throws {
    let full = 10_000.0
    let fleet = try await Fleet(on: backend, ramp: 60, full: full)
    var grants: [Int] = []
    for slice in 0..<8 * 190 {
      let second = Double(slice) / 8
      // The workers ask at different moments.
      grants.append(try await fleet.ask(5000, at: second).leased + fleet.ask(5000, at: second + 0.05).leased)
    }
    let share = Double(grants[(8 * 66)..<(8 * 186)].reduce(0, +)) / (full * 120)
    expect((0.98...1).contains(share), "\(share)")
    // FCM may begin its minute at any moment.
    for start in 0..<grants.count - 8 * 60 {
      let minute = grants[start..<start + 8 * 60].reduce(0, +)
      expect(Double(minute) <= full * 60, "\(minute) in the minute from slice \(start)")
    }
  }

  @Test(arguments: Backend.allCases)
  func unusedTimeTakesTheRateBack(on backend: Backend) async throws {
    let fleet = try await Fleet(on: backend, ramp: 60)
    _ = try await fleet.send(from: 0, to: 65)
    expect(try await fleet.rate(at: 65), is: 990)
    let half = try await fleet.rate(at: 95.5)
    expect((540...546).contains(half), "\(half)")
    expect(try await fleet.rate(at: 200), is: 99)
    // The first request after the pause gets no burst at the former rate.
    expect(try await fleet.ask(5000, at: 1000).leased <= 18)
    // A few pushes per second are not enough to keep the rate high.
    for second in 1000..<1100 { _ = try await fleet.ask(3, at: Double(second)) }
    expect(try await fleet.rate(at: 1100) < 105)
  }

  @Test(arguments: Backend.allCases)
  func slowQuotaRisesTooAndIsAskedOften(on backend: Backend) async throws {
    let world = try await TestStore(on: backend, partitions: 1)
    let quota = ServiceQuota(name: "fcm:p", perSecond: 0.01, rampSeconds: 60)
    let first = try await world.store.limits.lease(5, of: .quota(quota), at: .perSecond(0.01), returned: 0)
    expect(first.leased == 1 && first.wait == 5_000_000)
    let seconds = try #require(try await world.command("TTL", world.keys.quota("fcm:p")).integer)
    expect(seconds >= 7190)
  }

  @Test(arguments: Backend.allCases)
  func reportsLowerTheRateOfAllWorkers(on backend: Backend) async throws {
    let fleet = try await Fleet(on: backend)
    expect(try await fleet.rate(at: 0), is: 990)
    // The rate is a tenth of the new rate until the service accepts pushes again.
    expect(try await fleet.rate(at: 1, QuotaReport()), is: 89.1)
    expect(try await fleet.rate(at: 3, QuotaReport()), is: 89.1, "another worker reports the same")
    expect(try await fleet.rate(at: 6.9), is: 89.1)
    expect(try await fleet.rate(at: 7.1), is: 891)
    expect(try await fleet.rate(at: 60), is: 891)
    // The rate rises by a tenth of the configured rate each minute.
    expect(try await fleet.rate(at: 91), is: 940.5)
    expect(try await fleet.rate(at: 121), is: 990)
    // The longer the service refuses pushes during a minute, the lower the new rate.
    for second in stride(from: 200.0, to: 230, by: 5) { _ = try await fleet.rate(at: second, QuotaReport()) }
    expect(try await fleet.rate(at: 240), is: 526.1)
    // The rate never falls to 0, and it recovers.
    for second in stride(from: 300.0, to: 2000, by: 5) { _ = try await fleet.rate(at: second, QuotaReport()) }
    expect(try await fleet.rate(at: 2010), is: 9.9)
    expect(try await fleet.rate(at: 2700), is: 990)
  }

  @Test(arguments: Backend.allCases)
  func limitOfTheServiceCountsForAnHour(on backend: Backend) async throws {
    let fleet = try await Fleet(on: backend)
    let report = QuotaReport(perMinute: 30_000)
    expect(try await fleet.rate(at: 0), is: 990)
    expect(try await fleet.rate(at: 1, report), is: 49.5)
    // The fleet has used up this minute's limit at the former rate, so pushes are refused for the rest of the minute.
    for second in stride(from: 6.0, to: 60, by: 5) { expect(try await fleet.rate(at: second, report), is: 49.5) }
    expect(try await fleet.rate(at: 63), is: 495)
    expect(try await fleet.rate(at: 1800), is: 495)
    expect(try await fleet.rate(at: 3650), is: 495)
    // An hour after the last report, the rate rises slowly.
    expect(try await fleet.rate(at: 3710), is: 594)
  }

  @Test(arguments: Backend.allCases)
  func otherSendersTakeAPartOfTheLimit(on backend: Backend) async throws {
    let fleet = try await Fleet(on: backend)
    let report = QuotaReport(perMinute: 30_000)
    _ = try await fleet.rate(at: 0)
    _ = try await fleet.rate(at: 1, report)
    _ = try await fleet.rate(at: 100, report)
    expect(try await fleet.rate(at: 110), is: 445.5)
    // A limit above the configured rate does not raise it.
    _ = try await fleet.rate(at: 5000)
    expect(try await fleet.rate(at: 5001, QuotaReport(perMinute: 600_000)), is: 89.1)
    expect(try await fleet.rate(at: 5200), is: 990)
  }

  @Test(arguments: Backend.allCases)
  func reportEndsTheSlowStart(on backend: Backend) async throws {
    let fleet = try await Fleet(on: backend, ramp: 60)
    _ = try await fleet.send(from: 0, to: 30)
    let before = try await fleet.rate(at: 30)
    let after = try await fleet.rate(at: 30.1, QuotaReport())
    expect(abs(after - before * 0.09) < 1, "\(before), \(after)")
    _ = try await fleet.send(from: 30.2, to: 36)
    let next = try await fleet.rate(at: 37)
    expect(abs(next - before * 0.9) < 8, "\(next)")
  }

  @Test(arguments: Backend.allCases)
  func minuteNeverHasMorePushesThanTheQuota(on backend: Backend) async throws {
    let fleet = try await Fleet(on: backend)
    _ = try await fleet.ask(at: 0)
    // The first half minute is missed.
    let leased = try await fleet.send(from: 30, to: 90)
    expect((59_400...60_000).contains(leased), "\(leased)")
  }

  /// After a failover the time may go back, and the stored values may be anything.
  @Test(arguments: Backend.allCases)
  func corruptValuesBlockNothing(on backend: Backend) async throws {
    let fleet = try await Fleet(on: backend, ramp: 60)
    _ = try await fleet.ask(at: 5000, report: nil)
    _ = try await fleet.ask(at: 5001, report: QuotaReport(perMinute: 30_000))
    expect(try await fleet.ask(at: 10).perSecond >= 49)
    for value in ["inf", "nan", "-1", "1e300", "x", "", "0"] {
      for field in ["share", "limit", "since", "refused", "stated", "statedAt"] {
        _ = try await fleet.world.command("HSET", fleet.world.keys.quota("fcm:p"), field, value)
        let rate = try await fleet.ask(at: 20).perSecond
        expect((9...990).contains(rate), "\(field) \(value): \(rate)")
      }
    }
    _ = try await fleet.world.command("DEL", fleet.world.keys.quota("fcm:p"))
    expect(try await fleet.rate(at: 30), is: 99)
  }
}
