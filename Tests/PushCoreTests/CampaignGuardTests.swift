import APNs
import FCM
import PushCore
import TestKit
import Testing

/// The guard of a campaign, which holds back bad answers if they look like a wrong setting or a wrong message.
@Suite struct CampaignGuardTests {
  private static let service = APNsService(AppTraits(topic: "com.example.news"))

  private func made(_ threshold: Double = 0.1, _ pruneShare: Double = 0.5, minimum: Int = 200) -> CampaignGuard {
    CampaignGuard(
      GuardPolicy(threshold: threshold, pruneShare: pruneShare, minimum: minimum), app: "news", service: Self.service)
  }

  /// Counts an answer of the only worker.
  private func count(_ breaker: inout CampaignGuard, _ outcome: Outcome) -> Bool {
    let tripped = breaker.count(outcome)
    return breaker.evaluate(breaker.counts) || tripped
  }

  /// Counts answers in order, each outcome the given number of times.
  private func count(_ breaker: inout CampaignGuard, _ answers: (Outcome, Int)...) {
    for (outcome, times) in answers { for _ in 0..<times { _ = count(&breaker, outcome) } }
  }

  @Test func trialLastsUntilTheMinimumIsReached() {
    var breaker = made()
    for _ in 0..<199 {
      let changed = count(&breaker, .badToken)
      expect(!changed)
      expect(breaker.isUndecided)
    }
    let changed = count(&breaker, .badToken)
    expect(changed)
    expect(!breaker.isUndecided)
    expect(breaker.tripReason != nil)
  }

  @Test func opensOnceAndReportsIt() {
    var breaker = made(minimum: 3)
    let changes = (0..<10).map { _ in count(&breaker, .accepted) }
    expect(changes, is: [false, false, true] + Array(repeating: false, count: 7))
    expect(breaker.state, is: .open)
    expect(breaker.tripReason, is: nil)
  }

  @Test(arguments: [Outcome.badToken, .wrongTopic, .rejected]) func suspectAnswersTripAboveTheThreshold(
    outcome: Outcome
  ) {
    var breaker = made()
    count(&breaker, (outcome, 20), (.accepted, 180))
    expect(breaker.state, is: .open)
    breaker = made()
    count(&breaker, (outcome, 60), (.accepted, 140))
    expect(breaker.tripReason?.hasPrefix("30 % of 200 answers refused the token or the message: probably "), is: true)
  }

  @Test(arguments: [Outcome.unregistered, .expiredToken]) func goneDevicesTripAboveThePruneShare(outcome: Outcome) {
    var breaker = made()
    count(&breaker, (outcome, 100), (.accepted, 100))
    expect(breaker.state, is: .open)
    breaker = made()
    count(&breaker, (outcome, 120), (.accepted, 80))
    expect(breaker.tripReason?.hasPrefix("60 % of 200 answers reported the device as gone: probably "), is: true)
  }

  @Test func everyShareAtTheMinimumIsJudgedByItsOwnBound() {
    for suspects in 0...20 {
      for gone in 0...(20 - suspects) {
        var breaker = made(0.25, 0.5, minimum: 20)
        count(&breaker, (.badToken, suspects), (.unregistered, gone), (.accepted, 20 - suspects - gone))
        let trips = suspects > 5 || gone > 10
        expect(breaker.tripReason != nil, is: trips, "\(suspects) suspect, \(gone) gone")
        expect(breaker.state == .open, is: !trips)
      }
    }
  }

  @Test(arguments: Outcome.allCases) func onlyAnswersAboutTheTokenOrTheMessageCount(outcome: Outcome) {
    var breaker = made(1, 1, minimum: 1)
    let isAnswer = [.accepted, .badToken, .wrongTopic, .rejected, .unregistered, .expiredToken].contains(outcome)
    let changed = count(&breaker, outcome)
    expect(changed, is: isAnswer)
    expect(breaker.isUndecided, is: !isAnswer)
  }

  @Test func otherRefusalsAreNotSuspect() {
    var breaker = made(0.1, 0.1, minimum: 10)
    count(&breaker, (.failed, 1000))
    expect(breaker.isUndecided)
  }

  /// A worker without own answers decides from those of the fleet, and knows no reason of a refusal.
  @Test func fleetsAnswersNameTheProbableCauseWithoutAReason() {
    var breaker = CampaignGuard(GuardPolicy(minimum: 10), app: "news", service: Self.service)
    let isDecided = breaker.evaluate(GuardCounts(answers: 20, suspects: 20, gone: 0))
    expect(isDecided)
    expect(breaker.tripReason?.contains("probably the wrong environment for app news"), is: true)
  }

  /// The service names the probable cause. Its text depends on the reason of most refusals.
  @Test(arguments: [
    (service as any PushService, Outcome.badToken, Reason.badDeviceToken.code, "wrong environment for app news"),
    (service, .rejected, ReasonCode.other, "wrong content of the job"),
    (service, .unregistered, Reason.unregistered.code, "mostly with Unregistered: probably the wrong devices"),
    (
      FCMService(), .rejected, FCMReason.invalidArgument.code,
      "refused the token or the message, mostly with INVALID_ARGUMENT: probably a wrong message"
    ),
    (FCMService(), .badToken, FCMReason.senderIDMismatch.code, "wrong project for app news"),
  ])
  func reasonNamesTheProbableCause(service: any PushService, outcome: Outcome, reason: ReasonCode, text: String) {
    var breaker = CampaignGuard(GuardPolicy(minimum: 10), app: "news", service: service)
    _ = breaker.count(.badToken, reason: FCMReason.invalidToken.code)
    for _ in 0..<20 { _ = breaker.count(outcome, reason: reason) }
    _ = breaker.evaluate(breaker.counts)
    expect(breaker.tripReason?.contains(text), is: true, "\(breaker.tripReason ?? "")")
    if service.name == "fcm" { expect(breaker.tripReason?.contains("environment"), is: false) }
  }

  @Test(arguments: [200, 400, 1_000, 100_000]) func tripsLaterWhenAnswersTurnBad(good: Int) {
    var breaker = made()
    count(&breaker, (.accepted, good))
    expect(breaker.state, is: .open)
    var bad = 0
    while breaker.tripReason == nil, bad < 1000 {
      _ = count(&breaker, .badToken)
      bad += 1
    }
    // Earlier answers never weigh more than twice the minimum.
    expect((20...45).contains(bad), "\(bad)")
  }

  /// A worker was restarted with a wrong setting, and the rest of the fleet gets good answers.
  @Test func lateWorkerTripsBelowTheMinimum() {
    var breaker = made()
    var changed = breaker.evaluate(GuardCounts(answers: 300))
    expect(changed)
    for _ in 0..<20 {
      changed = breaker.count(.badToken)
      expect(!changed)
    }
    changed = breaker.count(.badToken)
    expect(changed)
    expect(breaker.tripReason?.hasPrefix("100 % of 21 answers"), is: true)
    // Good answers could still lower the share, so the guard waits.
    breaker = made()
    _ = breaker.evaluate(GuardCounts(answers: 300))
    for _ in 0..<20 { _ = breaker.count(.badToken) }
    for _ in 0..<180 { _ = breaker.count(.accepted) }
    expect(breaker.state, is: .open)
  }

  @Test func steadyShareBelowTheBoundNeverTrips() {
    var breaker = made()
    for number in 0..<100_000 {
      _ = count(&breaker, number % 20 == 0 ? .badToken : number % 3 == 0 ? .unregistered : .accepted)
    }
    expect(breaker.state, is: .open)
  }

  @Test func staysTrippedWithItsFirstReason() {
    var breaker = made(minimum: 10)
    count(&breaker, (.badToken, 10))
    let reason = breaker.tripReason
    count(&breaker, (.unregistered, 100), (.accepted, 10_000))
    let changed = breaker.decide(on: breaker.counts)
    expect(!changed)
    expect(breaker.tripReason, is: reason)
  }

  @Test func fleetDecidesDuringTheTrial() {
    var breaker = made(minimum: 10)
    for _ in 0..<50 {
      let changed = breaker.count(.badToken)
      expect(!changed)
    }
    expect(breaker.isUndecided)
    var changed = breaker.evaluate(GuardCounts(answers: 9, suspects: 9))
    expect(!changed)
    changed = breaker.evaluate(GuardCounts(answers: 1000, suspects: 50))
    expect(changed)
    expect(breaker.state, is: .open)
    // After the decision, the worker's own answers count.
    changed = breaker.count(.badToken)
    expect(changed)
    changed = breaker.evaluate(GuardCounts(answers: 1000))
    expect(!changed)
  }

  @Test func decidesEarlyOnThePresentAnswers() {
    var breaker = made()
    var changed = breaker.decide(on: breaker.counts)
    expect(changed)
    expect(breaker.state, is: .open)
    breaker = made()
    count(&breaker, (.badToken, 15), (.accepted, 5))
    changed = breaker.decide(on: breaker.counts)
    expect(changed)
    expect(breaker.tripReason?.hasPrefix("75 % of 20 answers"), is: true)
  }

  @Test func disabledGuardStaysOpen() {
    var breaker = CampaignGuard(GuardPolicy(minimum: 10), app: "news", service: Self.service, isOff: true)
    expect(breaker.state, is: .open)
    count(&breaker, (.badToken, 1000), (.unregistered, 1000))
    expect(breaker.state, is: .open)
    expect(breaker.reasonToPause(on: GuardCounts(answers: 10, gone: 10)), is: nil)
  }

  @Test func objectsToSharesOfFewAnswersToo() {
    let breaker = made()
    expect(breaker.reasonToPause(on: GuardCounts()), is: nil)
    expect(breaker.reasonToPause(on: GuardCounts(answers: 2, suspects: 1)) != nil)
    expect(breaker.reasonToPause(on: GuardCounts(answers: 2, gone: 1)), is: nil)
    expect(breaker.isUndecided)
  }

  @Test func smallCampaignIsJudgedAmongThoseOfItsApp() {
    let bad = GuardCounts(answers: 2, suspects: 1)
    for (own, app, trips) in [
      (bad, GuardCounts(answers: 200, suspects: 30), true), (bad, GuardCounts(answers: 199, suspects: 199), false),
      (bad, GuardCounts(answers: 300, suspects: 30), false),
      (GuardCounts(answers: 2), GuardCounts(answers: 200, suspects: 200), false),
    ] {
      var breaker = made()
      let changed = breaker.evaluate(own, amongThoseOfItsApp: app)
      expect(changed, is: trips)
      expect(breaker.isUndecided, is: !trips)
      expect(breaker.tripReason?.hasPrefix("with the campaigns before it: 15 % of 200 answers") ?? false == trips)
    }
  }

  @Test func shareOfOneIsNeverPassed() {
    var breaker = made(1, 1, minimum: 2)
    count(&breaker, (.badToken, 100), (.unregistered, 100))
    expect(breaker.state, is: .open)
  }

  @Test func minimumFitsIntoHalfTheWindow() {
    expect(GuardPolicy().within(window: 1000).minimum, is: 200)
    expect(GuardPolicy().within(window: 100).minimum, is: 50)
    expect(GuardPolicy().within(window: 1).minimum, is: 1)
  }

  @Test func campaignWithMostHeldAnswersDecidesFirst() {
    expect(GuardPolicy.mustDecide(held: [], window: 100), is: nil)
    expect(GuardPolicy.mustDecide(held: [20, 29], window: 100), is: nil)
    expect(GuardPolicy.mustDecide(held: [10, 25, 15], window: 100), is: 1)
    expect(GuardPolicy.mustDecide(held: [1], window: 1), is: 0)
  }

  // MARK: Several workers

  /// Counts answers of one of several workers.
  private func countAmongOthers(_ breaker: inout CampaignGuard, _ outcome: Outcome, _ times: Int) {
    for _ in 0..<times { _ = breaker.count(outcome, isAlone: false) }
  }

  @Test(arguments: [Outcome.badToken, .wrongTopic, .rejected, .unregistered, .expiredToken])
  func workerWithMostlyBadAnswersAsksTheOthers(outcome: Outcome) {
    var breaker = made()
    countAmongOthers(&breaker, .accepted, 4)
    countAmongOthers(&breaker, outcome, 4)
    expect(!breaker.isSuspended)
    countAmongOthers(&breaker, outcome, 1)
    expect(breaker.isSuspended)
    var alone = made()
    for _ in 0..<20 { _ = alone.count(outcome) }
    expect(!alone.isSuspended)
  }

  @Test func suspendedGuardTripsOnlyWhenTheOthersHaveBeenAsked() {
    var breaker = made(minimum: 20)
    _ = breaker.evaluate(GuardCounts(answers: 20))
    expect(breaker.state, is: .open)
    countAmongOthers(&breaker, .badToken, 30)
    expect(breaker.isSuspended)
    expect(breaker.state, is: .open)
    let changed = breaker.resume()
    expect(changed)
    expect(!breaker.isSuspended)
    expect(breaker.tripReason?.hasPrefix("100 % of 30 answers refused the token"), is: true)
  }

  @Test func asksAgainWhenTwiceAsManyAreBad() {
    var breaker = made()
    countAmongOthers(&breaker, .badToken, 5)
    var changed = breaker.resume()
    expect(!changed)
    countAmongOthers(&breaker, .badToken, 4)
    expect(!breaker.isSuspended)
    countAmongOthers(&breaker, .badToken, 1)
    expect(breaker.isSuspended)
    changed = breaker.resume()
    expect(!changed)
    countAmongOthers(&breaker, .badToken, 9)
    expect(!breaker.isSuspended)
  }

  @Test func withdrawnWorkerChangesNoDevice() {
    var breaker = made()
    countAmongOthers(&breaker, .wrongTopic, 5)
    let reason = breaker.decline()
    expect(reason.hasPrefix("100 % of 5 answers refused the token or the message: probably "))
    expect(!reason.contains("resume"), "other workers continue the campaign")
    expect(breaker.tripReason, is: reason)
    expect(!breaker.isSuspended)
    countAmongOthers(&breaker, .wrongTopic, 100)
    let changed = breaker.evaluate(GuardCounts(answers: 1000))
    expect(!changed && !breaker.isSuspended && breaker.tripReason == reason)
  }

  @Test func unguardedCampaignAsksNoOtherWorker() {
    var breaker = CampaignGuard(GuardPolicy(), app: "news", service: Self.service, isOff: true)
    countAmongOthers(&breaker, .badToken, 1000)
    expect(!breaker.isSuspended)
    expect(breaker.state, is: .open)
  }
}
