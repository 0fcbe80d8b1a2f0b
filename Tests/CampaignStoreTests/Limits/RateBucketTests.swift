@testable import CampaignStore
import PushCore
import Redis
import TestKit
import TestSupport
import Testing

/// Token buckets of campaigns and apps that have a rate.
@Suite struct RateBucketTests {
  /// The script with a clock of the test's own. Seconds and µs are its last two arguments.
  private static let timed = RedisScript(
    name: "rate",
    source: StoreScripts.rate.source.replacing("redis.call('TIME')", with: "{ARGV[#ARGV - 1], ARGV[#ARGV]}"))

  private func lease(
    _ world: TestStore, _ wanted: Int, returned: Int = 0, _ rate: CampaignRate = .perSecond(1000),
    known: (slices: Int, targets: Int) = (0, 0), at now: Int
  ) async throws -> RateAnswer {
    var names = [world.keys.rate(campaign: "a")]
    if case .perSecond = rate {} else { names.append(world.keys.campaign("a")) }
    var pipeline = RedisPipeline()
    pipeline.script(Self.timed, keys: names) {
      RateBucket.write(wanted, rate, returned, known, to: &$0)
      $0.append(now / 1_000_000)
      $0.append(now % 1_000_000)
    }
    let reply = try #require(try await world.redis.execute(pipeline).first).get()
    return try #require(RateBucket.answer(reply))
  }

  /// µs since the epoch.
  private static let start = 1_790_000_000_000_000

  @Test(arguments: Backend.allCases)
  func bucketBeginsWithOnePush(on backend: Backend) async throws {
    let world = try await TestStore(on: backend, partitions: 1)
    expect(try await lease(world, 500, at: Self.start), is: RateAnswer(leased: 1, wait: 1000, perSecond: 1000))
    expect(try await lease(world, 500, at: Self.start + 125_000).leased, is: 125)
    expect(try await lease(world, 500, at: Self.start + 125_000).leased, is: 0)
  }

  @Test(arguments: Backend.allCases)
  func missedPushesAreAtMostABurstAndAreCaughtUpSlowly(on backend: Backend) async throws {
    let world = try await TestStore(on: backend, partitions: 1)
    _ = try await lease(world, 1, at: Self.start)
    let first = Self.start + 3_000_000
    expect(try await lease(world, 5000, at: first).leased, is: 178)
    var leased = 178
    for slice in 1...480 { leased += try await lease(world, 5000, at: first + slice * RateBucket.slice).leased }
    // Sixty seconds at 1.02 times the rate. The three missed seconds are two hundredths of 150.
    expect((61_300...61_400).contains(leased), "\(leased)")
  }

  @Test(arguments: Backend.allCases)
  func returnedPermitsAreGrantedAgain(on backend: Backend) async throws {
    let world = try await TestStore(on: backend, partitions: 1)
    _ = try await lease(world, 1, at: Self.start)
    expect(try await lease(world, 125, at: Self.start + 125_000).leased, is: 125)
    expect(try await lease(world, 0, returned: 40, at: Self.start + 125_000).leased, is: 0)
    expect(try await lease(world, 1000, at: Self.start + 250_000).leased, is: 165)
    // Returned permits never allow a burst, however many there are.
    expect(try await lease(world, 9000, returned: 5000, at: Self.start + 375_000).leased, is: 178)
  }

  @Test(arguments: Backend.allCases)
  func slowRateLeasesOnePushAtItsTime(on backend: Backend) async throws {
    let world = try await TestStore(on: backend, partitions: 1)
    expect(
      try await lease(world, 9, .perSecond(0.5), at: Self.start),
      is: RateAnswer(leased: 1, wait: 2_000_000, perSecond: 0.5))
    expect(try await lease(world, 9, .perSecond(0.5), at: Self.start + 1_900_000).wait, is: 100_000)
    expect(try await lease(world, 9, .perSecond(0.5), at: Self.start + 2_000_000).leased, is: 1)
    expect(try await lease(world, 9, .perSecond(0.5), at: Self.start + 3_900_000).leased, is: 0)
  }

  /// After a failover the time may go back, and the stored values may be anything.
  @Test(arguments: Backend.allCases)
  func clockThatGoesBackAndCorruptValuesBlockNothing(on backend: Backend) async throws {
    let world = try await TestStore(on: backend, partitions: 1)
    _ = try await lease(world, 1, at: Self.start)
    let earlier = Self.start - 3_600_000_000
    expect(try await lease(world, 1, at: earlier).leased, is: 0)
    expect(try await lease(world, 10, at: earlier + 125_000).leased, is: 10)
    for value in ["inf", "nan", "-1", "1e300", "x", ""] {
      for field in ["at", "brisk", "slot", "asks", "before"] {
        _ = try await world.command("HSET", world.keys.rate(campaign: "a"), field, value)
        let leased = try await lease(world, 500, at: earlier + 250_000).leased
        expect((0...178).contains(leased), "\(field) \(value): \(leased)")
      }
    }
  }

  @Test(arguments: Backend.allCases)
  func workersThatAskGetEqualParts(on backend: Backend) async throws {
    let world = try await TestStore(on: backend, partitions: 1)
    var leased = [0, 0, 0, 0]
    for round in 0..<80 {
      for worker in 0..<4 {
        let now = Self.start + round * 125_000 + worker * 20_000
        leased[worker] += try await lease(world, 500, at: now).leased
      }
    }
    // Permits that are granted for a slice of time stay in the bucket for that time.
    expect((9800...10_000).contains(leased.reduce(0, +)), "\(leased)")
    expect(leased.allSatisfy { (2000...3000).contains($0) }, "\(leased)")
  }

  /// A worker returns its remaining permits after the campaign has ended and its keys have expired.
  @Test(arguments: Backend.allCases)
  func returnedPermitsCreateNoBucket(on backend: Backend) async throws {
    let world = try await TestStore(on: backend, partitions: 1)
    for rate in [CampaignRate.perSecond(100), .over(seconds: 60)] {
      expect(try await world.store.limits.lease(0, of: .campaign("a"), at: rate, returned: 5).leased, is: 0)
      expect(try await world.command("EXISTS", world.keys.rate(campaign: "a")).integer, is: 0)
    }
  }

  private static let rates: [CampaignRate] =
    [0.3, 1, 7.5, 80, 1000, 50_000, 1_000_000].map { .perSecond($0) }
    + [1, 30, 900, 604_800].map { .over(seconds: $0) }
    + [10, 100, 9000].map { .until(milliseconds: start / 1000 + $0 * 1000) }

  @Test(arguments: rates, [1, 2] as [UInt64])
  func modelEqualsTheScript(rate: CampaignRate, seed: UInt64) async throws {
    let world = try await TestStore(on: .single, partitions: 1)
    var chance = Seed(value: seed)
    let modelled: RateBucketModel.Rate =
      switch rate {
      case .perSecond(let perSecond): .perSecond(perSecond)
      case .over(let seconds): .over(Double(seconds) * 1_000_000)
      case .until(let milliseconds): .until(Double(milliseconds) * 1000)
      }
    var model = RateBucketModel(
      modelled, slice: RateBucket.slice, burst: RateBucket.burst, memory: RateBucket.memory)
    var progress = RateBucketModel.Progress()
    (progress.slices, progress.startedAt) = (40, Self.start)
    var now = Self.start
    for step in 0..<300 {
      now += Int.random(in: 0...(step % 50 == 0 ? 9_000_000 : 90_000), using: &chance)
      if step % 97 == 96 {
        model.forget()
        _ = try await world.command("DEL", world.keys.rate(campaign: "a"))
      }
      if step % 10 == 0, progress.finished.slices < 40 {
        progress.finished.slices += 1
        progress.finished.targets += Int.random(in: 0...2000, using: &chance)
        _ = try await world.command(
          "HSET", world.keys.campaign("a"), "slices", 40, "finished", progress.finished.slices, "targets",
          progress.finished.targets, "startedAt", Self.start / 1000)
      }
      progress.inHand = (Int.random(in: 0...2, using: &chance), Int.random(in: 0...2000, using: &chance))
      let wanted = Int.random(in: 0...3, using: &chance) * 100
      let returned = step % 5 == 0 ? Int.random(in: 0...20, using: &chance) : 0
      let answer = try await lease(world, wanted, returned: returned, rate, known: progress.inHand, at: now)
      let expected = model.lease(wanted, returned: returned, now: now, progress)
      expect(
        answer.leased == expected.leased && answer.wait == expected.wait, "step \(step): \(answer), not \(expected)")
      guard answer.leased == expected.leased, answer.wait == expected.wait else { return }
    }
  }

  /// Uses the store's own call and Redis' own clock.
  @Test(arguments: Backend.allCases)
  func campaignAndAppHaveBucketsOfTheirOwnWhichExpire(on backend: Backend) async throws {
    let world = try await TestStore(on: backend, partitions: 1)
    for subject in [RateSubject.campaign("x"), .app("x", service: "apns")] {
      let answer = try await world.store.limits.lease(10, of: subject, at: .perSecond(0.001), returned: 0)
      expect(answer.leased == 1 && answer.wait == 1_000_000_000)
      expect(try await world.store.limits.lease(10, of: subject, at: .perSecond(0.001), returned: 0).leased, is: 0)
    }
    for key in [world.keys.rate(campaign: "x"), world.keys.rate(app: "x", service: "apns")] {
      let seconds = try #require(try await world.command("TTL", key).integer)
      expect((2000...2060).contains(seconds))
    }
  }
}
