import PushCore
import TestKit
import TestSupport
import Testing

@testable import PushWorker

@Suite struct SchedulerTests {
  private typealias Entry = Scheduler.Entry

  /// A slice with targets to send that requests credit.
  private func entry(
    _ slot: Int, _ campaign: String = "a", pool: Int = 0, lane: Int = 1, wants: Int = 1000,
    _ change: (inout Entry) -> Void = { _ in }
  ) -> Entry {
    var entry = Entry(
      slot: slot, campaign: campaign, account: .init(pool: pool, lane: lane),
      condition: .init(isStuck: false, isReady: true, isSending: true, isOnlyDeferred: false, isBisecting: false),
      served: 0, targets: .init(wants: wants, ungranted: wants, unanswered: 0, returning: 0))
    change(&entry)
    return entry
  }

  private func budget(_ window: Int = 1000, isShared: Bool = false) -> CreditBudget {
    var budget = CreditBudget(window: window)
    budget.isShared = isShared
    return budget
  }

  // MARK: Rates

  /// Slices of a campaign that may send ten pushes soon.
  private func limited(_ slot: Int, _ campaign: String, ungranted: Int) -> Entry {
    entry(slot, campaign, wants: 0) { ($0.targets.enough, $0.targets.ungranted) = (10, ungranted) }
  }

  @Test func slicesThatWaitForTheirRateTakeNoRoom() {
    let selection = SliceSelection()
    _ = selection.record(unfinished: 100, fleet: 1)
    let slow = (0..<SliceSelection.maximumLimited).map { limited($0, "slow\($0)", ungranted: 100_000) }
    let plain = entry(1000, "plain", wants: 300)
    let opening = selection.opening(slow + [plain], beginning: [], window: 1000)
    expect(!opening.lanes.isEmpty)
    expect(opening.excluded, is: Set(slow.map(\.campaign)))
  }

  @Test func onlyNeededSlicesOfACampaignWithARateArePrepared() {
    let selection = SliceSelection()
    _ = selection.record(unfinished: 100, fleet: 1)
    expect(selection.opening([limited(0, "slow", ungranted: 10)], beginning: [], window: 1000).excluded, is: ["slow"])
    let short = [limited(0, "slow", ungranted: 9)]
    expect(selection.opening(short, beginning: [], window: 1000).excluded, is: [])
    expect(selection.opening(short, beginning: ["slow"], window: 1000).excluded, is: ["slow"])
  }

  // MARK: Credit

  @Test func lowerLaneGetsNoCreditThatAHigherLaneCanUse() {
    let (urgent, bulk) = (entry(0, "news", lane: 0), entry(1, "sale", lane: 2))
    expect(Scheduler.credit(for: bulk, among: [urgent, bulk], budget()), is: 0)
    expect(Scheduler.credit(for: urgent, among: [urgent, bulk], budget()), is: 1000)
    let idle = entry(0, "news", lane: 0, wants: 0)
    expect(Scheduler.credit(for: bulk, among: [idle, bulk], budget()), is: 1000)
  }

  @Test func lowerLaneOfAnotherPoolGetsTheRemainingCredit() {
    var budget = budget(isShared: true)
    let (urgent, bulk) = (entry(0, "news", pool: 0, lane: 0), entry(1, "sale", pool: 1, lane: 2))
    expect(Scheduler.credit(for: bulk, among: [urgent, bulk], budget), is: 0)
    budget.assign(750, to: urgent.account)
    expect(Scheduler.credit(for: bulk, among: [urgent, bulk], budget), is: 187)
  }

  @Test func returnedCreditIsReusableUnlessOthersComeFirst() {
    var budget = budget()
    let million = entry(0, "million") { ($0.targets.returning, $0.served) = (200, 5000) }
    budget.assign(1000, to: million.account)
    expect(Scheduler.credit(for: million, among: [million], budget), is: 200)
    let one = entry(1, "one", wants: 1)
    expect(Scheduler.credit(for: million, among: [million, one], budget), is: 199)
    let urgent = entry(2, "news", lane: 0)
    expect(Scheduler.credit(for: million, among: [million, urgent], budget), is: 0)
  }

  @Test func stuckPoolHasNoPriorityAndTriesOnePushAtATime() {
    var urgent = entry(0, "news", pool: 0, lane: 0) { $0.condition.isStuck = true }
    let bulk = entry(1, "sale", pool: 1, lane: 2)
    expect(Scheduler.credit(for: bulk, among: [urgent, bulk], budget()), is: 1000)
    expect(Scheduler.credit(for: urgent, among: [urgent, bulk], budget()), is: 1)
    urgent.targets.unanswered = 1
    expect(Scheduler.credit(for: urgent, among: [urgent, bulk], budget()), is: 0)
  }

  @Test func secondSearchForAPoisonTargetWaitsForTheFirst() {
    let searches = [entry(0) { $0.condition.isBisecting = true }, entry(1) { $0.condition.isBisecting = true }]
    expect(Scheduler.credit(for: searches[0], among: searches, budget()) > 0)
    expect(Scheduler.credit(for: searches[1], among: searches, budget()), is: 0)
  }

  @Test func neighbourThatWasServedLeastComesFirst() {
    let million = entry(0, "million") { $0.served = 5000 }
    let one = entry(1, "one", wants: 1) { $0.served = 10 }
    expect(Scheduler.order([million, one]).map(\.slot), is: [1, 0])
    expect(Scheduler.credit(for: million, among: [million, one], budget()), is: 999)
    var nearlyFull = budget()
    nearlyFull.assign(999, to: million.account)
    expect(Scheduler.credit(for: one, among: [million, one], nearlyFull), is: 1)
    // The last credit is not reserved for any slice.
    expect(Scheduler.credit(for: million, among: [million, one], nearlyFull), is: 1)
  }

  /// Campaigns of one lane and pool, of very different sizes, served until all targets are sent.
  @Test func campaignsOfOneLaneAreServedAlike() {
    var seed = Seed("campaignsOfOneLaneAreServedAlike")
    for _ in 0..<20 {
      let sizes = (0..<Int.random(in: 2...5, using: &seed)).map { _ in
        Int.random(in: 1...20_000, using: &seed)
      }
      var budget = budget(Int.random(in: 50...1000, using: &seed))
      var entries = sizes.enumerated().map { entry($0, "c\($0)", wants: $1) }
      var assigned = sizes.map { _ in 0 }
      while entries.contains(where: { $0.targets.wants > 0 }) {
        for next in Scheduler.order(entries) {
          let slot = next.slot
          let credit = Scheduler.credit(for: entries[slot], among: entries, budget)
          let amount = min(credit, entries[slot].targets.wants, SliceSituation.fullBatch)
          budget.assign(amount, to: entries[slot].account)
          assigned[slot] += amount
          entries[slot].targets.wants -= amount
          entries[slot].served += amount
        }
        expect(budget.assigned <= budget.window)
        let waiting = entries.filter { $0.targets.wants > 0 }.map(\.served)
        if let most = waiting.max(), let least = waiting.min() {
          expect(most - least <= 2 * SliceSituation.fullBatch, "\(sizes)")
        }
        let answered = entries.indices.filter { assigned[$0] > 0 }.randomElement(using: &seed)
        if let answered {
          budget.giveBack(assigned[answered], of: entries[answered].account)
          assigned[answered] = 0
        }
      }
    }
  }

  @Test func newSliceStartsWithTheLowestServiceCount() {
    let entries = [entry(0, "a") { $0.served = 700 }, entry(1, "b") { $0.served = 900 }, entry(2, "c", lane: 2)]
    expect(Scheduler.start(of: .init(pool: 0, lane: 1), among: entries), is: 700)
    expect(Scheduler.start(of: .init(pool: 1, lane: 1), among: entries), is: 0)
  }

  // MARK: Taking slices

  private func selection(fleet: Int = 1, unfinished: Int = 256) -> SliceSelection {
    let selection = SliceSelection()
    _ = selection.record(unfinished: unfinished, fleet: fleet)
    return selection
  }

  @Test func fleetSharesOutTheTail() {
    let selection = selection(fleet: 4, unfinished: 4)
    expect(selection.opening([], beginning: ["a"], window: 10).excluded, is: ["a"])
    let morePreparable = selection.record(unfinished: 256, fleet: 4)
    expect(morePreparable)
    expect(selection.opening([], beginning: ["a"], window: 10).excluded, is: [])
  }

  @Test func enoughOfOneCampaignLeavesRoomToAnother() {
    let entries = [entry(0, "million", wants: 2000)]
    expect(selection().opening(entries, beginning: [], window: 1000).excluded, is: ["million"])
    expect(selection().opening([entry(0, "million", wants: 1999)], beginning: [], window: 1000).excluded, is: [])
  }

  @Test func abandonedSlicesArePreparedAFewAtATime() {
    let full = (0..<SliceSelection.maximumSlices).map { entry($0, "million", wants: 5000) }
    expect(selection().mayPrepare(full, beginning: []))
    let preparing = (0..<3).map { entry(20 + $0) { $0.condition.isReady = false } }
    expect(selection().mayPrepare(full + preparing, beginning: []))
    expect(!selection().mayPrepare(full + preparing, beginning: ["a"]))
  }

  @Test func slicesOfALowerLaneDoNotBlockAHigherLane() {
    let entries = [entry(0, "sale", lane: 2, wants: 5000), entry(1, "news", lane: 0, wants: 10)]
    expect(selection().opening(entries, beginning: [], window: 1000).excluded, is: ["sale"])
  }

  @Test func stuckPoolsSlicesLeaveRoomToOthers() {
    let stuck = (0..<SliceSelection.maximumSlices).map { entry($0, "sick") { $0.condition.isStuck = true } }
    let opening = selection().opening(stuck + [entry(20, "well", pool: 1, wants: 10)], beginning: [], window: 1000)
    expect(!opening.lanes.isEmpty)
    expect(opening.excluded, is: ["sick"])
  }

  @Test func numberOfHeldSlicesIsBounded() {
    let many = (0..<SliceSelection.maximumInHand).map { entry($0, "c\($0)", wants: 1) }
    expect(selection().opening(many, beginning: [], window: 1000).lanes.isEmpty)
    let beginning = (0..<2 * SliceSelection.maximumPreparable).map { "c\($0)" }
    expect(selection().opening([], beginning: beginning, window: 1000).lanes.isEmpty)
  }

  // MARK: Returning credit

  @Test func stuckPoolKeepsOnePushToBeTriedWith() {
    let stuck = entry(0) { ($0.condition.isStuck, $0.targets.unanswered) = (true, 300) }
    expect(Scheduler.reclaims([stuck], budget()).map(\.keeping), is: [1])
    let tried = entry(0) { ($0.condition.isStuck, $0.targets.unanswered) = (true, 1) }
    expect(Scheduler.reclaims([tried], budget()).isEmpty)
  }

  @Test func lowerLaneReturnsCreditThatAHigherLaneNeeds() {
    var budget = budget()
    let (urgent, bulk) = (entry(0, "news", lane: 0), entry(1, "sale", lane: 2) { $0.targets.unanswered = 1000 })
    budget.assign(999, to: bulk.account)
    expect(Scheduler.reclaims([urgent, bulk], budget).isEmpty)
    budget.assign(1, to: bulk.account)
    expect(Scheduler.reclaims([urgent, bulk], budget).map(\.slot), is: [1])
    expect(Scheduler.reclaims([entry(0, "news", lane: 0, wants: 0), bulk], budget).isEmpty)
  }

  @Test func poolReturnsOnlyCreditBeyondItsShare() {
    var budget = budget(isShared: true)
    let big = entry(0, "big", pool: 0) { $0.targets.unanswered = 750 }
    let late = entry(1, "late", pool: 1)
    budget.assign(750, to: big.account)
    budget.assign(187, to: late.account)
    expect(Scheduler.reclaims([big, late], budget).map(\.slot), is: [0])
    budget.giveBack(250, of: big.account)
    expect(Scheduler.reclaims([big, late], budget).isEmpty)
  }

  // MARK: Batches of slices

  @Test(arguments: [
    // The number of targets of a slice is unknown or large.
    (nil, 5000, 1, 2000, 1), (33, 5000, 1, 2000, 1),
    // The batch is limited by the room for targets, by half of the worker's share, and by the maximum size of a batch.
    (1, 5000, 1, 2000, 128), (32, 5000, 1, 2000, 62), (2, 100, 4, 2000, 12), (1, 5000, 100, 2000, 25),
    // The last slices of a campaign are taken one by one. A worker without room also takes one slice.
    (1, 3, 4, 2000, 1), (1, 5000, 1, -5, 1),
  ])
  func batchIsAtMostAShare(targets: Int?, unfinished: Int, fleet: Int, room: Int, expected: Int) {
    let number = SliceSelection().batchSize(targets: targets, unfinished: unfinished, fleet: fleet, room: room)
    expect(number, is: expected)
  }

  @Test func batchCountsAsOneSlice() {
    let entries = (0..<100).map { slot in entry(slot, "small", wants: 1) { $0.counts = slot == 0 } }
    expect(selection().opening(entries, beginning: [], window: 1000).excluded, is: [])
    expect(
      selection().opening(
        entries.map {
          var each = $0; each.counts = true; return each
        }, beginning: [], window: 1000
      )
      .lanes.isEmpty)
    // The targets of a batch still count.
    expect(selection().opening(entries, beginning: [], window: 50).excluded, is: ["small"])
  }

  @Test func demandOfManySlicesIsThatOfTheirCampaigns() {
    var seed = Seed("demandOfManySlicesIsThatOfTheirCampaigns")
    for _ in 0..<200 {
      let entries = (0..<Int.random(in: 1...12, using: &seed)).map { slot in
        let campaign = Int.random(in: 0..<4, using: &seed)
        return entry(
          slot, "c\(campaign)", pool: campaign % 2, lane: campaign / 2, wants: .random(in: 0...300, using: &seed)
        ) {
          $0.served = 100 * campaign
          $0.condition.isStuck = Int.random(in: 0..<6, using: &seed) == 0
          $0.condition.isSending = Int.random(in: 0..<6, using: &seed) > 0
          $0.condition.isBisecting = Int.random(in: 0..<6, using: &seed) == 0
        }
      }
      var budget = budget(1000, isShared: .random(using: &seed))
      budget.assign(.random(in: 0...1000, using: &seed), to: entries[0].account)
      let demand = Scheduler.Demand(entries)
      for entry in entries {
        expect(
          demand.credit(for: entry, budget), is: Self.credit(for: entry, among: entries, budget), "seed \(seed.value)")
      }
    }
  }

  /// Computes the same credit slice by slice.
  private static func credit(for entry: Entry, among entries: [Entry], _ budget: CreditBudget) -> Int {
    let allowance = budget.allowance(entry.account, returning: entry.targets.returning)
    guard entry.condition.isSending, allowance > 0 else { return 0 }
    if entry.condition.isStuck { return entry.targets.unanswered == 0 ? 1 : 0 }
    let others = entries.filter { $0.slot != entry.slot && $0.condition.isSending }
    if entry.condition.isBisecting, others.contains(where: { $0.condition.isBisecting && $0.slot < entry.slot }) {
      return 0
    }
    let wanting = others.filter { $0.targets.wants > 0 && !$0.condition.isStuck }
    let higher = wanting.filter { $0.account.lane < entry.account.lane }
    if higher.contains(where: { $0.account.pool == entry.account.pool || budget.allowance($0.account) > 0 }) {
      return 0
    }
    let first = wanting.filter {
      $0.account == entry.account && $0.campaign != entry.campaign && $0.served < entry.served
    }
    return allowance - min(first.reduce(0) { $0 + min($1.targets.wants, SliceSituation.fullBatch) }, allowance / 2)
  }
}
