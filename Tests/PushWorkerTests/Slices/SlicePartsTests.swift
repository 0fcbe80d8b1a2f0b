import CampaignStore
import PushCore
import TestKit
import TestSupport
import Testing

@testable import PushWorker

/// The parts of a held slice, without Redis, sockets or time.
@Suite struct SlicePartsTests {
  private let accepted = LedgerRecord(state: .terminal(.accepted), status: 200)

  @Test func tagsDistinguishSlicesOfOneSlot() {
    let (first, second) = (SliceTag(generation: 1, slot: 3), SliceTag(generation: 2, slot: 3))
    let tag = first.tag(70_000)
    expect(first.matches(tag))
    expect(!second.matches(tag))
    expect(SliceTag(of: tag), is: first)
    expect(SliceTag.index(tag), is: 70_000)
    expect(SliceTag(generation: .max, slot: 65_535).matches(.max))
  }

  @Test func outcomesAreTakenOldestFirstInFullBatches() {
    var queue = OutcomeQueue()
    queue.prepare(for: 1000)
    for index in 0..<600 {
      queue.record(UInt64(index) * 1_000_000) { $0.append(accepted, at: index) }
      queue.markUnrecorded(index)
    }
    expect(queue.count, is: 600)
    expect(queue.age(600_000_000), is: 600)
    let batch = queue.takeBatch(700_000_000)
    expect(batch.count, is: SliceSituation.fullBatch)
    expect(queue.age(700_000_000), is: 0)
    expect(queue.isUnrecorded(0))
    queue.markRecorded(batch)
    expect(!queue.isUnrecorded(0))
    expect(queue.isUnrecorded(SliceSituation.fullBatch))
    queue.putBack(batch)
    expect(queue.count, is: 600)
    var again: [Int] = []
    queue.takeBatch(0).forEachIndex { again.append($0) }
    expect(again, is: Array(0..<SliceSituation.fullBatch))
  }

  @Test func targetsInFlightAreCountedOnce() {
    var seed = Seed("targetsInFlightAreCountedOnce")
    var targets = TargetsInFlight()
    targets.prepare(for: 2000)
    var model: Set<Int> = []
    for _ in 0..<5000 {
      let index = Int.random(in: 0..<2000, using: &seed)
      if model.insert(index).inserted {
        targets.begin(index, attempt: UInt8(index % 3), history: AttemptHistory(), grantedAt: 0)
      } else {
        model.remove(index)
        expect(targets.attempt(of: index).attempt, is: UInt8(index % 3))
        targets.end(index, granted: 0)
      }
    }
    for index in 0..<2000 { expect(targets.contains(index), is: model.contains(index)) }
    expect(!targets.contains(70_000), "a completion may name what never was")
  }

  @Test func grantTimeIsNeverLaterThanTheGrant() {
    var targets = TargetsInFlight()
    targets.prepare(for: 600)
    targets.begin(0, attempt: 0, history: AttemptHistory(), grantedAt: 100)
    targets.begin(1, attempt: 0, history: AttemptHistory(), grantedAt: 200)
    targets.begin(599, attempt: 0, history: AttemptHistory(), grantedAt: 300)
    expect([0, 1, 599].map(targets.grantTime), is: [100, 100, 300])
    for index in 0...1 { targets.end(index, granted: 2) }
    targets.begin(0, attempt: 1, history: AttemptHistory(), grantedAt: 400)
    expect(targets.grantTime(of: 0), is: 400, "no target of the chunk was in flight before")
  }

  @Test func answerToALaterGrantCountsForIt() {
    var targets = TargetsInFlight()
    targets.prepare(for: 10)
    targets.begin(3, attempt: 1, history: AttemptHistory(isAmbiguous: true), grantedAt: 0)
    targets.renumber(3, attempt: 2, history: AttemptHistory(counted: 1))
    expect(targets.attempt(of: 3) == (2, AttemptHistory(counted: 1, isAmbiguous: true)))
    targets.renumber(3, attempt: 1, history: AttemptHistory())
    expect(targets.attempt(of: 3) == (2, AttemptHistory(counted: 1, isAmbiguous: true)))
  }

  @Test func searchTakesAndReturnsAllTargetsInDoubt() {
    var doubt = SliceDoubt()
    doubt.targets = (0..<4).map { GrantedTarget(index: $0) }
    let before = doubt.beginBisection()
    expect(before, is: nil, "it has killed no worker")
    doubt.deaths = (3, nil)
    let deaths = doubt.beginBisection()
    expect(deaths, is: 3)
    expect(doubt.targets.isEmpty)
    expect(doubt.deferred.count, is: 4)
    doubt.endBisection()
    expect(doubt.targets.count, is: 4)
    expect(doubt.bisection, is: nil)
    doubt.drop()
    expect(doubt.isEmpty)
  }
}
