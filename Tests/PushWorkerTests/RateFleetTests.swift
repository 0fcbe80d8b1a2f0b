import CampaignStore
import TestSupport
import Testing

@testable import PushWorker

/// A fleet with a rate, its bucket and its clock simulated: workers that die, stand still and come, a Redis that is away and
/// forgets. What is checked is what was sent between any two moments.
@Suite struct RateFleetTests {
  private struct Worker {
    var lease = RateLease()
    /// ns.
    var standsUntil = 0
    var ticksAt = 0
    /// A question under way: when its answer comes.
    var question: (question: RateLease.Question, at: Int)?
    /// Credit that Redis has yet to grant.
    var commits: [(count: Int, at: Int)] = []
  }

  private struct Fleet {
    let perSecond: Double
    var chance: Seed
    var bucket: RateBucketModel
    var workers: [Worker]
    /// ns.
    var now = 1_000_000_000
    var redisBackAt = 0
    var sent = 0
    /// Pushes beyond 1.02 times the rate since the moment at which there were the most.
    var excess = 0.0
    var worst = 0.0
    var questions = 0
    /// By worker.
    var shares: [Int]

    init(perSecond: Double, workers: Int, seed: UInt64) {
      self.perSecond = perSecond
      chance = Seed(value: seed)
      bucket = RateBucketModel(
        perSecond: perSecond, slice: RateBucket.slice, burst: RateBucket.burst, memory: RateBucket.memory)
      self.workers = (0..<workers).map { _ in Worker() }
      shares = Array(repeating: 0, count: workers)
    }

    /// A ms of the fleet.
    mutating func step() {
      now += 1_000_000
      excess = max(0, excess - perSecond * 1.02 / 1000)
      for index in workers.indices { step(index) }
      worst = max(worst, excess)
    }

    private mutating func step(_ index: Int) {
      guard workers[index].standsUntil <= now, workers[index].ticksAt <= now else { return }
      // A machine with other things to do.
      workers[index].ticksAt = now + Int.random(in: 4...8, using: &chance) * 1_000_000
      let isAway = redisBackAt > now
      if let (question, at) = workers[index].question, at <= now, !isAway {
        let answer = bucket.lend(question.wanted, returned: question.returned, now: now / 1000)
        workers[index].lease.take(
          RateAnswer(lent: answer.lent, wait: answer.wait), to: question, now: UInt64(now))
        workers[index].question = nil
      }
      for (count, at) in workers[index].commits where at <= now && !isAway {
        workers[index].lease.settle(spent: count, sent: count)
        sent += count
        shares[index] += count
        excess += Double(count)
      }
      if !isAway { workers[index].commits.removeAll { $0.at <= now } }
      workers[index].lease.advance(UInt64(now))
      if let question = workers[index].lease.question(wanted: 100_000, now: UInt64(now)) {
        questions += 1
        workers[index].question = (question, now + Int.random(in: 0...4, using: &chance) * 1_000_000)
      }
      let count = workers[index].lease.allowance
      if count > 0 {
        workers[index].lease.spend(count)
        workers[index].commits.append((count, now + Int.random(in: 0...4, using: &chance) * 1_000_000))
      }
    }

    /// What may be sent beyond the rate: a quarter of a second's worth, and a push for each worker.
    var burst: Double { perSecond / 4 + Double(workers.count) + 1 }
  }

  @Test(arguments: [1, 40, 1000, 50_000], [1, 2, 7, 30])
  func rateIsKeptToByEveryFleet(perSecond: Int, workers: Int) {
    var fleet = Fleet(perSecond: Double(perSecond), workers: workers, seed: 7)
    let seconds = 60
    for _ in 0..<seconds * 1000 { fleet.step() }
    let share = Double(fleet.sent) / Double(perSecond * seconds)
    #expect((0.98...1.02).contains(share), "\(share)")
    #expect(fleet.worst <= fleet.burst, "\(fleet.worst) of \(fleet.burst)")
    // A handful each second, whatever the rate.
    #expect(fleet.questions <= 9 * workers * seconds, "\(fleet.questions)")
    // Nobody takes it all, where there is something for everybody.
    let fair = fleet.sent / workers
    if fair >= 50 { #expect(fleet.shares.allSatisfy { (fair / 3...3 * fair).contains($0) }, "\(fleet.shares)") }
  }

  @Test(arguments: [30, 1000, 50_000], 1...8 as ClosedRange<UInt64>)
  func deathsStandstillsAndAForgetfulRedisMakeItSlowerAndNeverFaster(perSecond: Int, seed: UInt64) {
    var fleet = Fleet(perSecond: Double(perSecond), workers: 4, seed: seed)
    let seconds = 300
    for millisecond in 0..<seconds * 1000 {
      fleet.step()
      guard millisecond % 20_000 == 19_999 else { continue }
      let victim = Int.random(in: 0..<4, using: &fleet.chance)
      switch Int.random(in: 0..<4, using: &fleet.chance) {
      case 0:
        fleet.workers[victim] = Worker()
        // Somebody notices, and takes over.
        fleet.workers[victim].standsUntil = fleet.now + 2_000_000_000
      case 1:
        fleet.workers[victim].standsUntil = fleet.now + Int.random(in: 100...5000, using: &fleet.chance) * 1_000_000
      case 2: fleet.redisBackAt = fleet.now + Int.random(in: 50...1000, using: &fleet.chance) * 1_000_000
      default: fleet.bucket.forget()
      }
    }
    let share = Double(fleet.sent) / Double(perSecond * seconds)
    #expect((0.98...1.02).contains(share), "\(share)")
    #expect(fleet.worst <= fleet.burst, "\(fleet.worst) of \(fleet.burst)")
  }
}
