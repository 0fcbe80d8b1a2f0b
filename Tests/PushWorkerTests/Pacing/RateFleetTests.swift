import CampaignStore
import TestKit
import TestSupport
import Testing

@testable import PushWorker

/// A simulated fleet with a rate, its bucket and its clock. Workers die, are suspended and join, and Redis goes away
/// and loses writes. The test checks the pushes that were sent in any interval.
@Suite(.takesTurns) struct RateFleetTests {
  private struct Worker {
    var lease = RateLease()
    /// The end of the worker's suspension, in ns.
    var standsUntil = 0
    var ticksAt = 0
    /// A request in flight, and the time of its answer.
    var request: (request: RateLease.Request, at: Int)?
    /// Credit that Redis has not granted yet.
    var commits: [(count: Int, at: Int)] = []
  }

  private struct Fleet {
    let perSecond: Double
    var chance: Seed
    var bucket: RateBucketModel
    var workers: [Worker]
    /// The fleet's clock, in ns.
    var now = 1_000_000_000
    var redisBackAt = 0
    var sent = 0
    /// Pushes beyond 1.02 times the rate, since the time that gives the largest number.
    var excess = 0.0
    var worst = 0.0
    var questions = 0
    /// The number of pushes by worker.
    var shares: [Int]
    /// Targets of the campaign's slices; empty for a campaign without an end.
    var slices: [Int] = []
    /// The time in ns at which the pause ends.
    var pausedUntil = 0

    init(
      perSecond: Double, workers: Int, seed: UInt64, rate: RateBucketModel.Rate? = nil,
      memory: Int = RateBucket.memory
    ) {
      self.perSecond = perSecond
      chance = Seed(value: seed)
      bucket = RateBucketModel(
        rate ?? .perSecond(perSecond), slice: RateBucket.slice, burst: RateBucket.burst, memory: memory)
      self.workers = (0..<workers).map { _ in Worker() }
      shares = Array(repeating: 0, count: workers)
    }

    /// Simulates one ms.
    mutating func step() {
      now += 1_000_000
      excess = max(0, excess - perSecond * 1.02 / 1000)
      for index in workers.indices { step(index) }
      worst = max(worst, excess)
    }

    /// The number of targets that no worker has sent or is about to send.
    private var left: Int {
      guard !slices.isEmpty else { return 100_000 }
      return slices.reduce(0, +) - sent - workers.reduce(0) { $0 + $1.lease.reserved }
    }

    /// The progress of the targets as the store and a worker know it. Slices are sent one after the other.
    private var progress: RateBucketModel.Progress {
      var progress = RateBucketModel.Progress()
      guard !slices.isEmpty else { return progress }
      (progress.slices, progress.startedAt) = (slices.count, 1_000_000)
      var behind = 0
      for size in slices {
        if behind + size > sent {
          progress.inHand = (1, size)
          break
        }
        progress.finished = (progress.finished.slices + 1, progress.finished.targets + size)
        behind += size
      }
      return progress
    }

    private mutating func step(_ index: Int) {
      guard workers[index].standsUntil <= now, workers[index].ticksAt <= now else { return }
      // The machine has other work too.
      workers[index].ticksAt = now + Int.random(in: 4...8, using: &chance) * 1_000_000
      let isAway = redisBackAt > now
      if let (request, at) = workers[index].request, at <= now, !isAway {
        let answer = bucket.lease(request.wanted, returned: request.returned, now: now / 1000, progress)
        workers[index].lease.take(
          RateAnswer(leased: answer.leased, wait: answer.wait, perSecond: perSecond), now: UInt64(now))
        workers[index].request = nil
      }
      for (count, at) in workers[index].commits where at <= now && !isAway {
        workers[index].lease.reconcile(spent: count, sent: count)
        sent += count
        shares[index] += count
        excess += Double(count)
      }
      if !isAway { workers[index].commits.removeAll { $0.at <= now } }
      workers[index].lease.advance(UInt64(now))
      if let request = workers[index].lease.request(wanted: pausedUntil > now ? 0 : left, now: UInt64(now)) {
        questions += 1
        workers[index].request = (request, now + Int.random(in: 0...4, using: &chance) * 1_000_000)
      }
      let count = pausedUntil > now ? 0 : min(left, workers[index].lease.allowance)
      if count > 0 {
        workers[index].lease.spend(count)
        workers[index].commits.append((count, now + Int.random(in: 0...4, using: &chance) * 1_000_000))
      }
    }

    /// The pushes that may exceed the rate: a quarter of a second's worth, and one push for each worker.
    var burst: Double { perSecond / 4 + Double(workers.count) + 1 }
  }

  @Test(arguments: [1, 40, 1000, 50_000], [1, 2, 7])
  func everyFleetObeysTheRate(perSecond: Int, workers: Int) {
    var fleet = Fleet(perSecond: Double(perSecond), workers: workers, seed: 7)
    let seconds = 60
    for _ in 0..<seconds * 1000 { fleet.step() }
    let share = Double(fleet.sent) / Double(perSecond * seconds)
    expect((0.98...1.02).contains(share), "\(share)")
    expect(fleet.worst <= fleet.burst, "\(fleet.worst) of \(fleet.burst)")
    // Each worker sends a few requests each second, whatever the rate.
    expect(fleet.questions <= 9 * workers * seconds, "\(fleet.questions)")
    // No worker takes all pushes if there are enough for all workers.
    let fair = fleet.sent / workers
    if fair >= 50 { expect(fleet.shares.allSatisfy { (fair / 3...3 * fair).contains($0) }, "\(fleet.shares)") }
  }

  @Test(arguments: [30, 1000, 50_000], 1...2 as ClosedRange<UInt64>)
  func faultsMakeTheFleetSlowerAndNeverFaster(perSecond: Int, seed: UInt64) {
    var fleet = Fleet(perSecond: Double(perSecond), workers: 4, seed: seed)
    let seconds = 300
    for millisecond in 0..<seconds * 1000 {
      fleet.step()
      guard millisecond % 20_000 == 19_999 else { continue }
      let victim = Int.random(in: 0..<4, using: &fleet.chance)
      switch Int.random(in: 0..<4, using: &fleet.chance) {
      case 0:
        fleet.workers[victim] = Worker()
        // Other workers detect the death and take over.
        fleet.workers[victim].standsUntil = fleet.now + 2_000_000_000
      case 1:
        fleet.workers[victim].standsUntil = fleet.now + Int.random(in: 100...5000, using: &fleet.chance) * 1_000_000
      case 2: fleet.redisBackAt = fleet.now + Int.random(in: 50...1000, using: &fleet.chance) * 1_000_000
      default: fleet.bucket.forget()
      }
    }
    let share = Double(fleet.sent) / Double(perSecond * seconds)
    expect((0.98...1.02).contains(share), "\(share)")
    expect(fleet.worst <= fleet.burst, "\(fleet.worst) of \(fleet.burst)")
  }

  /// A service counts the pushes of a minute, which begins at any time.
  @Test(arguments: [40, 10_000], [1, 2, 7])
  func everyMinuteStaysLittleBelowTheQuota(perSecond: Int, workers: Int) {
    let quota = Double(perSecond)
    var fleet = Fleet(
      perSecond: quota * RateBucket.quotaShare, workers: workers, seed: 7, memory: RateBucket.quotaCatchUp)
    var sent: [Int] = [0]
    for _ in 0..<180_000 {
      fleet.step()
      sent.append(fleet.sent)
    }
    let minutes = (60_000..<sent.count).map { Double(sent[$0] - sent[$0 - 60_000]) / (60 * quota) }
    expect(minutes.max() ?? 0 <= 1 && minutes.min() ?? 0 >= 0.98, "\(minutes.min() ?? 0)...\(minutes.max() ?? 0)")
  }

  /// Returns a fleet that spreads the targets over sixty seconds, with slices of different sizes.
  private func spread(_ targets: Int, workers: Int, seed: UInt64, _ rate: RateBucketModel.Rate) -> Fleet {
    var fleet = Fleet(perSecond: Double(targets) / 60, workers: workers, seed: seed, rate: rate)
    let most = max(1, targets / 32)
    while fleet.slices.reduce(0, +) < targets { fleet.slices.append(Int.random(in: 0...most, using: &fleet.chance)) }
    return fleet
  }

  @Test(arguments: [5, 600, 600_000], 1...2 as ClosedRange<UInt64>)
  func pushesAreSpreadEvenlyOverATime(targets: Int, seed: UInt64) {
    var fleet = spread(targets, workers: 4, seed: seed, .over(60_000_000))
    let total = fleet.slices.reduce(0, +)
    var (second, worst) = (0, 0.0)
    while fleet.sent < total, second < 120 {
      for _ in 0..<1000 { fleet.step() }
      second += 1
      if second.isMultiple(of: 5), fleet.sent < total {
        worst = max(worst, abs(Double(fleet.sent) / Double(total) - Double(second) / 60))
      }
      // A lost bucket starts again with one push. With only five targets this push would be too early.
      if second == 20, targets > 100 { fleet.bucket.forget() }
    }
    // With few targets the estimate of their number is rough. The last target is sent at the beginning of its part of
    // the time.
    expect((targets > 100 ? 57...63 : 35...63).contains(second), "\(second)")
    expect(worst <= (targets > 100 ? 0.08 : 0.35), "\(worst)")
  }

  @Test(arguments: [600, 30_000], 1...2 as ClosedRange<UInt64>)
  func pauseExtendsTheTime(targets: Int, seed: UInt64) {
    var fleet = spread(targets, workers: 4, seed: seed, .over(60_000_000))
    let total = fleet.slices.reduce(0, +)
    for _ in 0..<30_000 { fleet.step() }
    fleet.pausedUntil = fleet.now + 40_000_000_000
    var second = 30
    while fleet.sent < total, second < 200 {
      for _ in 0..<1000 { fleet.step() }
      second += 1
    }
    expect((92...104).contains(second), "\(second)")
  }

  @Test(arguments: [600, 600_000], 1...2 as ClosedRange<UInt64>)
  func allTargetsAreSentByTheEndInSpiteOfFaults(targets: Int, seed: UInt64) {
    var fleet = spread(targets, workers: 4, seed: seed, .until(61_000_000))
    let total = fleet.slices.reduce(0, +)
    for second in 1...60 {
      for _ in 0..<1000 { fleet.step() }
      // The fleet sends only slightly faster than it must, and makes up for a pause.
      if second == 10 { expect((0.13...0.23).contains(Double(fleet.sent) / Double(total)), "\(fleet.sent)") }
      if second == 20 { fleet.pausedUntil = fleet.now + 15_000_000_000 }
      if second == 40 { fleet.bucket.forget() }
    }
    expect(fleet.sent, is: total, "\(fleet.sent) of \(total)")
  }
}
