import TestKit
import Testing

@testable import PushWorker

/// The next step of a slice, decided from its state.
@Suite struct SliceStepTests {
  private func step(_ change: (inout SliceSituation) -> Void) -> SliceStep {
    var situation = SliceSituation()
    change(&situation)
    return situation.next
  }

  @Test func freshSliceAsksForCreditUpToAFullBatch() {
    expect(
      step { ($0.backlog.ungranted, $0.credit.amount) = (5000, 1000) }, is: .commit(credit: SliceSituation.fullBatch))
    expect(step { ($0.backlog.ungranted, $0.credit.amount) = (3, 1000) }, is: .commit(credit: 3))
  }

  @Test func littleCreditIsNotWorthARoundTrip() {
    expect(step { ($0.backlog.ungranted, $0.credit.amount, $0.pending.unanswered) = (5000, 63, 900) }, is: .wait)
    expect(
      step { ($0.backlog.ungranted, $0.credit.amount, $0.pending.unanswered) = (5000, 64, 900) },
      is: .commit(credit: 64))
  }

  /// A few remaining due targets are sent. They do not wait for the time of the others.
  @Test(arguments: [1, 19, 63]) func smallRemainderIsSentThoughMuchIsDueLater(ungranted: Int) {
    expect(
      step {
        ($0.backlog.ungranted, $0.credit.amount, $0.backlog.waiting, $0.backlog.nextRetry) = (
          ungranted, 1000, 4000, 3_600_000
        )
      }, is: .commit(credit: ungranted))
    expect(
      step {
        ($0.backlog.ungranted, $0.credit.amount, $0.backlog.waiting, $0.backlog.nextRetry) = (
          ungranted, 1000, 4000, 3_600_000
        )
        $0.pending.unanswered = 5
      }, is: .commit(credit: ungranted))
  }

  @Test func returnedCreditIsRequestedAgainButCausesNoCommit() {
    expect(
      step {
        ($0.backlog.ungranted, $0.credit.amount, $0.pending.returning, $0.pending.outcomes, $0.pending.unanswered) = (
          5000, 200, 200, 200, 800
        )
      }, is: .wait)
    expect(
      step {
        ($0.backlog.ungranted, $0.credit.amount, $0.pending.returning, $0.pending.outcomes) = (
          5000, 256, 256, SliceSituation.fullBatch
        )
        $0.pending.unanswered = 700
      }, is: .commit(credit: 256))
    // The credit is not available before the commit.
    expect(
      step {
        ($0.backlog.doubt, $0.credit.amount, $0.pending.returning, $0.pending.outcomes, $0.pending.unanswered) = (
          5, 3, 3, 3, 1
        )
      }, is: .wait)
  }

  @Test(arguments: 1...300) func anyWindowStartsAnIdleSlice(window: Int) {
    expect(step { ($0.backlog.ungranted, $0.credit.amount, $0.credit.reach) = (5000, window, window) } != .wait)
  }

  @Test func outcomesWaitForOthersButNotForLong() {
    expect(step { ($0.pending.outcomes, $0.pending.age, $0.pending.unanswered) = (10, 0, 5) }, is: .wait)
    expect(
      step { ($0.pending.outcomes, $0.pending.age, $0.pending.unanswered) = (10, SliceSituation.outcomeDelay, 5) },
      is: .commit(credit: 0))
    expect(
      step { ($0.pending.outcomes, $0.pending.unanswered) = (SliceSituation.fullBatch, 5) }, is: .commit(credit: 0))
    // No other outcome will come.
    expect(step { $0.pending.outcomes = 1 }, is: .commit(credit: 0))
  }

  @Test func blockedTargetsAreSkippedWithoutCredit() {
    expect(step { ($0.backlog.ungranted, $0.backlog.blocked) = (5000, 4000) }, is: .skip(SliceSituation.fullBatch))
    expect(
      step { ($0.backlog.ungranted, $0.backlog.blocked, $0.pending.unanswered, $0.credit.amount) = (50, 4, 900, 100) },
      is: .skip(4))
    expect(
      step { ($0.backlog.ungranted, $0.backlog.blocked, $0.pending.outcomes, $0.credit.amount) = (50, 4, 3, 100) },
      is: .commit(credit: 0))
    expect(step { ($0.backlog.ungranted, $0.backlog.blocked, $0.intent) = (50, 4, .leave) }, is: .leave)
    expect(step { ($0.backlog.ungranted, $0.backlog.blocked, $0.isForgotten) = (50, 4, true) }, is: .replay)
  }

  @Test func targetsInDoubtAreResentFirst() {
    expect(step { ($0.backlog.doubt, $0.backlog.ungranted, $0.credit.amount) = (30, 100, 20) }, is: .resend(20))
    expect(step { ($0.backlog.doubt, $0.credit.amount) = (30, 0) }, is: .wait)
  }

  @Test func sliceFinishesOnlyWhenNothingIsLeft() {
    expect(step { _ in }, is: .finish)
    expect(step { $0.pending.unanswered = 1 }, is: .wait)
    expect(step { ($0.backlog.waiting, $0.backlog.nextRetry) = (1, 50) }, is: .wait)
    expect(step { ($0.backlog.waiting, $0.backlog.nextRetry) = (1, 900_000) }, is: .park(900_000))
    expect(step { ($0.backlog.waiting, $0.backlog.nextRetry, $0.credit.amount) = (1, 0, 10) }, is: .commit(credit: 1))
  }

  @Test(arguments: [SliceSituation.Intent.leave, .cancel, .lost])
  func withdrawnSliceRecordsPushesInFlightOnly(intent: SliceSituation.Intent) {
    let expected: [SliceSituation.Intent: SliceStep] = [.leave: .leave, .cancel: .cancel, .lost: .abandon]
    let idle = step { ($0.intent, $0.backlog.ungranted, $0.backlog.doubt, $0.credit.amount) = (intent, 100, 10, 1000) }
    expect(idle, is: expected[intent])
    expect(
      step { ($0.intent, $0.pending.unanswered, $0.backlog.ungranted, $0.credit.amount) = (intent, 4, 100, 1000) },
      is: .wait)
    expect(
      step { ($0.intent, $0.pending.outcomes, $0.backlog.ungranted, $0.credit.amount) = (intent, 4, 100, 1000) },
      is: .commit(credit: 0))
  }

  @Test func heldAnswersWaitAsLongAsOthersMayCome() {
    expect(step { ($0.pending.deferred, $0.pending.unanswered) = (5, 1) }, is: .wait)
    expect(step { ($0.pending.deferred, $0.backlog.ungranted) = (5, 10) }, is: .wait)
    expect(
      step { ($0.pending.deferred, $0.backlog.ungranted, $0.credit.amount) = (5, 10, 10) }, is: .commit(credit: 10))
    expect(step { ($0.pending.deferred, $0.backlog.doubt) = (5, 10) }, is: .wait)
    expect(step { ($0.pending.deferred, $0.backlog.doubt, $0.credit.amount) = (5, 10, 10) }, is: .resend(10))
    expect(step { ($0.pending.deferred, $0.pending.outcomes) = (5, 1) }, is: .commit(credit: 0))
  }

  @Test func heldAnswersAreFlushedBeforeASliceEndsOrParks() {
    expect(step { $0.pending.deferred = 5 }, is: .flush)
    expect(step { ($0.pending.deferred, $0.backlog.waiting, $0.backlog.nextRetry) = (5, 1, 900_000) }, is: .flush)
    expect(step { ($0.pending.deferred, $0.renews) = (5, true) }, is: .flush)
  }

  @Test func heldAnswersWaitForOtherSlicesAnswers() {
    expect(step { ($0.pending.deferred, $0.credit.isScarce, $0.mayGetMoreAnswers) = (5, true, true) }, is: .wait)
    expect(step { ($0.pending.deferred, $0.mayGetMoreAnswers, $0.renews) = (5, true, true) }, is: .commit(credit: 0))
    expect(step { ($0.pending.deferred, $0.credit.isScarce) = (5, true) }, is: .flush)
    expect(step { ($0.pending.deferred, $0.mayGetMoreAnswers, $0.intent) = (5, true, .leave) }, is: .flush)
  }

  @Test func scarceCreditIsTakenAsItComes() {
    expect(
      step { ($0.backlog.ungranted, $0.credit.amount, $0.credit.isScarce) = (5000, 3, true) }, is: .commit(credit: 3))
  }

  @Test(arguments: [SliceSituation.Intent.leave, .cancel, .lost])
  func withdrawnSliceFlushesHeldAnswersAfterTheLast(intent: SliceSituation.Intent) {
    expect(step { ($0.intent, $0.pending.deferred, $0.pending.unanswered) = (intent, 5, 1) }, is: .wait)
    expect(
      step { ($0.intent, $0.pending.deferred, $0.backlog.ungranted, $0.backlog.doubt) = (intent, 5, 100, 10) },
      is: .flush)
  }

  @Test func leaseIsRenewedWithoutOutcomesUnlessItIsLost() {
    expect(step { ($0.pending.unanswered, $0.renews) = (4, true) }, is: .commit(credit: 0))
    expect(step { ($0.intent, $0.pending.unanswered, $0.renews) = (.lost, 4, true) }, is: .wait)
  }

  @Test func replayComesBeforeEveryOtherStep() {
    expect(step { $0.isForgotten = true }, is: .replay)
    expect(
      step { ($0.isForgotten, $0.backlog.doubt, $0.credit.amount, $0.pending.outcomes) = (true, 5, 10, 300) },
      is: .replay)
    expect(step { ($0.isForgotten, $0.intent) = (true, .cancel) }, is: .replay)
    expect(step { ($0.isForgotten, $0.intent) = (true, .lost) }, is: .abandon)
  }
}
