@testable import CampaignStore
import PushCore
import TestKit
import Testing

@testable import PushWorker

/// Reports of answers to the fleet after the guard trial.
@Suite struct GuardReportsTests {
  @Test func workersTogetherStayBelowTheLimitOfOneGuard() {
    let policy = GuardPolicy(threshold: 0.1, pruneShare: 0.5, minimum: 200)
    for (fleet, suspects, gone) in [(2, 10, 50), (10, 2, 10), (500, 1, 1)] {
      for (outcome, limit) in [(Outcome.badToken, suspects), (.unregistered, gone)] {
        var watch = GuardReports()
        for _ in 0..<1000 { watch.count(.accepted, policy, fleet: fleet) }
        for _ in 0..<limit { watch.count(outcome, policy, fleet: fleet) }
        expect(watch.mayChangeDevice(policy, fleet: fleet))
        watch.count(outcome, policy, fleet: fleet)
        expect(!watch.mayChangeDevice(policy, fleet: fleet), "\(fleet) workers, \(outcome)")
      }
    }
  }

  @Test func loneWorkerSendsNoReports() {
    var watch = GuardReports()
    let policy = GuardPolicy()
    for _ in 0..<1000 { watch.count(.badToken, policy, fleet: 1) }
    expect(watch.mayChangeDevice(policy, fleet: 1))
    let news = watch.next(1_000_000_000)
    expect(news == nil && !watch.isDue)
  }

  @Test func reportContainsAllEarlierAnswersOnly() {
    var watch = GuardReports()
    let policy = GuardPolicy(minimum: 10)
    watch.count(.accepted, policy, fleet: 2)
    let nothing = watch.next(1_000_000_000)
    expect(nothing, is: nil, "only acceptances are no news")
    watch.count(.badToken, policy, fleet: 2)
    let first = watch.report
    let news = watch.next(1_000_000_000)
    expect(news, is: GuardCounts(answers: 2, suspects: 1))
    watch.count(.badToken, policy, fleet: 2)
    let second = watch.report
    expect(second, is: first + 1)
    let whileReporting = watch.next(2_000_000_000)
    let observed = watch.recordArrival()
    expect(whileReporting == nil && observed == first)
    let tooSoon = watch.next(1_010_000_000)
    expect(tooSoon == nil && watch.isDue)
    _ = watch.next(2_000_000_000)
    // It is unknown whether the report arrived, so the worker repeats it under its number.
    watch.failed()
    expect(watch.report, is: second)
    let again = watch.next(3_000_000_000)
    expect(again, is: GuardCounts(answers: 1, suspects: 1))
    _ = watch.recordArrival()
    for _ in 0..<1000 { watch.count(.accepted, policy, fleet: 2) }
    watch.count(.unregistered, policy, fleet: 2)
    let last = watch.next(4_000_000_000)
    expect(last?.gone == 1 && last?.answers ?? .max <= 10, "good answers of long ago hide nothing")
  }

  /// The share in a report is the real one for any number of answers. A fast worker reports no larger share than a slow
  /// one.
  @Test(arguments: [100, 1000, 100_000]) func reportContainsTheRealShare(answers: Int) throws {
    var watch = GuardReports()
    let policy = GuardPolicy()
    for number in 1...answers {
      let outcome: Outcome = number % 50 == 0 ? .badToken : number % 20 == 0 ? .unregistered : .accepted
      watch.count(outcome, policy, fleet: 2)
    }
    let report = watch.next(1_000_000_000)
    let news = try #require(report)
    expect(news.answers <= policy.minimum)
    expect((0...0.03).contains(Double(news.suspects) / Double(news.answers)))
    expect((0...0.06).contains(Double(news.gone) / Double(news.answers)))
    // Each bad answer still waits for a report.
    expect(!watch.mayChangeDevice(policy, fleet: 2) || answers == 100)
  }
}
