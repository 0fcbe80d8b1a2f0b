import CampaignStore
import PushCore
import TestKit
import Testing

@testable import PushWorker

/// Conditions under which a worker may assume that no more answers of a campaign will come.
@Suite struct TrialLeaseTests {
  private static let lease: UInt64 = 6_000_000_000
  private static let millisecond: UInt64 = 1_000_000

  /// Sends a request at these times, in ms, and gets the same answer each time.
  private func ask(
    _ probe: inout TrialLease, _ times: StrideThrough<UInt64>, inFlight: Int, answers: Int = 10
  ) {
    for time in times {
      let now = time * Self.millisecond
      guard let request = self.request(&probe, now: now) else { continue }
      let answer = GuardTrialAnswer(counts: GuardCounts(answers: answers), leased: 0, inFlight: inFlight)
      probe.take(answer, to: request, lease: Self.lease, now: now)
    }
  }

  private func request(_ probe: inout TrialLease, now: UInt64) -> TrialLease.Request? {
    probe.request(wanted: 0, unanswered: 0, isHolding: true, counts: GuardCounts(), minimum: 200, now: now)
  }

  private func isQuiet(_ probe: TrialLease, _ milliseconds: UInt64) -> Bool {
    probe.isQuiet(now: milliseconds * Self.millisecond, lease: Self.lease)
  }

  @Test func isQuietWhenNothingIsInFlightOrHasComeForAMoment() {
    var probe = TrialLease()
    expect(!isQuiet(probe, 1000))
    ask(&probe, stride(from: 1000, through: 1400, by: 20), inFlight: 0)
    expect(!isQuiet(probe, 1400))
    ask(&probe, stride(from: 1420, through: 1600, by: 20), inFlight: 0)
    expect(isQuiet(probe, 1600))
    ask(&probe, stride(from: 1620, through: 1620, by: 20), inFlight: 0, answers: 11)
    expect(!isQuiet(probe, 1620))
  }

  /// After one lease Redis may lease the sends to another worker. After a second lease that worker has taken them over
  /// and has the answers.
  @Test func waitsTwoLeasesForSendsOfOtherWorkers() {
    var probe = TrialLease()
    ask(&probe, stride(from: 1000, through: 12_900, by: 20), inFlight: 5)
    expect(!isQuiet(probe, 12_900))
    ask(&probe, stride(from: 12_920, through: 13_100, by: 20), inFlight: 5)
    expect(isQuiet(probe, 13_100))
  }

  /// With other workers in the fleet, Redis leases this worker no more sends than the minimum. So this worker can't get
  /// further answers to replace those that Redis lost.
  @Test func reportedAnswersReplaceThoseThatRedisLost() throws {
    var (trial, own) = (TrialLease(), GuardCounts())
    func ask(_ now: UInt64) throws -> TrialLease.Request {
      let request = trial.request(
        wanted: 40, unanswered: 0, isHolding: false, counts: own, minimum: 25, isAlone: false,
        now: now * Self.millisecond)
      return try #require(request)
    }
    func take(_ request: TrialLease.Request, leased: Int, known answers: Int, _ now: UInt64) {
      let answer = GuardTrialAnswer(counts: GuardCounts(answers: answers), leased: leased, inFlight: 0)
      trial.take(answer, to: request, lease: Self.lease, now: now * Self.millisecond)
    }
    var request = try ask(1000)
    expect(request.wanted, is: 25)
    take(request, leased: 25, known: 0, 1000)
    trial.spend(25)
    trial.reconcile(spent: 25, sent: 25)
    own.answers = 25
    request = try ask(1100)
    expect(request.news.answers, is: 25)
    take(request, leased: 0, known: 22, 1100)
    request = try ask(1200)
    expect(request.wanted, is: 0)
    expect(trial.fleetCounts.answers, is: 25)
    take(request, leased: 0, known: 30, 1200)
    expect(trial.fleetCounts.answers, is: 30)
  }

  /// The worker or Redis was stopped for longer than a lease, so the other workers may have reported many answers.
  @Test func workerThatWasAwayIsNotQuiet() {
    var probe = TrialLease()
    ask(&probe, stride(from: 1000, through: 2000, by: 20), inFlight: 5)
    expect(!isQuiet(probe, 30_000))
    ask(&probe, stride(from: 30_000, through: 30_000, by: 20), inFlight: 5)
    expect(!isQuiet(probe, 30_000))
    ask(&probe, stride(from: 30_020, through: 42_100, by: 20), inFlight: 5)
    expect(isQuiet(probe, 42_100))
  }

  /// If this worker is the only one with bad answers, the others can still detect it.
  @Test func oneOfSeveralWorkersTakesHalfOfTheTrial() throws {
    var probe = TrialLease()
    func ask(_ wanted: Int, isAlone: Bool, answers: Int = 0, unanswered: Int = 0, at time: UInt64) throws -> Int {
      let asked = probe.request(
        wanted: wanted, unanswered: unanswered, isHolding: true, counts: GuardCounts(answers: answers), minimum: 200,
        isAlone: isAlone, now: time * Self.millisecond)
      let request = try #require(asked)
      let answer = GuardTrialAnswer(counts: GuardCounts(answers: answers), leased: request.wanted, inFlight: 0)
      probe.take(answer, to: request, lease: Self.lease, now: time * Self.millisecond)
      return request.wanted
    }
    expect(try ask(1000, isAlone: false, at: 100), is: 200)
    probe.spend(200)
    probe.reconcile(spent: 200, sent: 200)
    expect(try ask(1000, isAlone: false, answers: 50, unanswered: 150, at: 200), is: 0)
    // Ten sends have ended without an answer that counts.
    expect(try ask(1000, isAlone: false, answers: 90, unanswered: 100, at: 300), is: 10)
    expect(try ask(1000, isAlone: true, answers: 90, unanswered: 100, at: 400), is: 400)
  }

  /// At one answer per second, two hundred answers are reported one by one. Answers that wait for the guard's decision
  /// wait for all of them, so the worker may ask less often.
  @Test func slowCampaignAsksLessOften() {
    var probe = TrialLease()
    var asked = 0
    for time in stride(from: 1000 as UInt64, to: 2000, by: 5) {
      let request = probe.request(
        wanted: 0, unanswered: 0, isHolding: true, counts: GuardCounts(), minimum: 200, isSlow: true,
        now: time * Self.millisecond)
      guard let request else { continue }
      asked += 1
      probe.take(
        GuardTrialAnswer(counts: GuardCounts(), leased: 0, inFlight: 0), to: request, lease: Self.lease,
        now: time * Self.millisecond)
    }
    expect(asked, is: 5)
  }

  @Test func missingAnswersDoNotCount() throws {
    var probe = TrialLease()
    ask(&probe, stride(from: 1000, through: 1600, by: 20), inFlight: 0)
    expect(isQuiet(probe, 1600))
    let lost = try #require(request(&probe, now: 6_000 * Self.millisecond))
    probe.take(nil, to: lost, lease: Self.lease, now: 6_100 * Self.millisecond)
    expect(!isQuiet(probe, 6_100))
  }
}
