@testable import CampaignStore
import PushCore
import Redis
import TestKit
import Testing

/// Grants. Only granted targets may be sent, and a target is in doubt if it is granted and not answered.
struct GrantTests {
  @Test(arguments: Backend.allCases)
  func grantsEndAtTheCount(on backend: Backend) async throws {
    let world = try await TestStore(on: backend, partitions: 1)
    let ledger = try await world.sealed("a", count: 10)
    expect(try await ledger.commit().granted, is: 0)
    expect(try await ledger.commit(credit: 4).granted, is: 4)
    let answer = try await ledger.commit(credit: 100)
    expect(answer.granted, is: 10)
    expect(answer.inDoubt, is: 10)
    expect(try await ledger.commit(credit: 100).granted, is: 10)
  }

  @Test(arguments: Backend.allCases)
  func answersTakeTargetsOutOfDoubt(on backend: Backend) async throws {
    let world = try await TestStore(on: backend, partitions: 1)
    let ledger = try await world.sealed("a", count: 10, granted: 10)
    let answer = try await ledger.commit([0: .terminal(.accepted), 5: .waiting(milliseconds: 60_000)])
    expect(answer.inDoubt, is: 8)
    expect(answer.waiting, is: 1)
    expect((50_000...60_000).contains(answer.nextRetry ?? 0))
    expect(try await ledger.commit(.accepted, 0..<10).inDoubt, is: 0)
    expect(try await ledger.commit().nextRetry, is: nil)
  }

  @Test(arguments: Backend.allCases)
  func staleOwnerGetsNothingButItsOutcomesCount(on backend: Backend) async throws {
    let world = try await TestStore(on: backend, partitions: 1)
    let stale = try await world.sealed("a", count: 10)
    try await stale.commit(credit: 5)
    try await world.endLease("a")
    let owner = try await world.claimed("a").ledger
    let leaseBefore = try await world.slice("a").text["lease"]

    let answer = try await stale.commit([0: .terminal(.accepted), 1: .waiting()], credit: 5)
    expect(!answer.isOwner)
    expect(answer.granted, is: 5)
    expect(answer.retries.isEmpty)
    // The 200 counts. Only the owner of the slice decides whether another target is retried.
    expect(answer.inDoubt, is: 4)
    expect(answer.waiting, is: 0)
    expect(try await world.slice("a").text["lease"], is: leaseBefore)
    expect(try await owner.record(0).state, is: .terminal(.accepted))
    expect(try await owner.commit(credit: 5).granted, is: 10)
  }

  @Test(arguments: Backend.allCases)
  func waitingTargetIsGrantedAgainWhenItIsDue(on backend: Backend) async throws {
    let world = try await TestStore(on: backend, partitions: 1)
    let ledger = try await world.sealed("a", count: 4, granted: 2)
    var due = LedgerRecord.waiting(milliseconds: 0)
    due.history = AttemptHistory(counted: 3, isAmbiguous: true)
    try await ledger.commit([0: due, 1: .waiting(milliseconds: 60_000)])
    let answer = try await ledger.commit(credit: 2)
    // The retry is granted first, then a target that was never sent.
    expect(answer.retries.map(\.index), is: [0])
    expect(answer.retries.map(\.attempt), is: [1])
    expect(answer.retries.map(\.history), is: [AttemptHistory(counted: 3, isAmbiguous: true)])
    expect(answer.granted, is: 3)
    expect(answer.inDoubt, is: 2)
    expect(answer.waiting, is: 1)
    let record = try await ledger.record(0)
    expect(record.state, is: .granted)
    expect(record.attempt, is: 1)
    // An answer to the first attempt is too late to change anything. An answer to the second attempt counts.
    try await ledger.commit([0: .waiting(attempt: 0, milliseconds: 60_000)])
    expect(try await ledger.record(0).state, is: .granted)
    expect(try await ledger.commit([0: .waiting(attempt: 1, milliseconds: 60_000)]).waiting, is: 2)
  }

  @Test(arguments: Backend.allCases)
  func withoutCreditNoRetryIsGranted(on backend: Backend) async throws {
    let world = try await TestStore(on: backend, partitions: 1)
    let ledger = try await world.sealed("a", count: 4, granted: 4)
    let answer = try await ledger.commit([0: .waiting(), 1: .waiting(), 2: .waiting()], credit: 0)
    expect(answer.retries.isEmpty)
    expect(answer.nextRetry, is: 0)
    expect(try await ledger.commit(credit: 2).retries.count, is: 2)
    expect(try await ledger.commit(credit: 2).retries.count, is: 1)
  }

  @Test(arguments: Backend.allCases)
  func oneCommitGrantsNoMoreRetriesThanAScriptMayTouch(on backend: Backend) async throws {
    let world = try await TestStore(on: backend, partitions: 1)
    let ledger = try await world.sealed("a", count: 600, granted: 600)
    for part in [0..<300, 300..<600] {
      try await ledger.commit(Dictionary(uniqueKeysWithValues: part.map { ($0, .waiting()) }))
    }
    let answer = try await ledger.commit(credit: 1000)
    expect(answer.retries.count, is: 500)
    expect(answer.waiting, is: 100)
    expect(answer.inDoubt, is: 500)
  }

  @Test(arguments: Backend.allCases)
  func targetHeldForDaysNeverRunsOutOfAttempts(on backend: Backend) async throws {
    let world = try await TestStore(on: backend, partitions: 1)
    let ledger = try await world.sealed("a", count: 1, granted: 1)
    try await ledger.commit([0: .waiting(attempt: 254)])
    for _ in 0..<3 {
      let retries = try await ledger.commit(credit: 1).retries
      expect(retries.map(\.attempt), is: [255])
      expect(try await ledger.commit([0: .waiting(attempt: 255)]).waiting, is: 1)
    }
    expect(try await ledger.commit([0: .terminal(.accepted)]).waiting, is: 0)
  }

  @Test(arguments: Backend.allCases)
  func outcomeAboveTheHighWaterMarkRaisesIt(on backend: Backend) async throws {
    let world = try await TestStore(on: backend, partitions: 1)
    let ledger = try await world.sealed("a", count: 10, granted: 6)
    // Redis loses the grant, as after a failover.
    try await world.command("HSET", world.keys.slice(0, of: "a"), "granted", 2, "doubt", 2)
    let answer = try await ledger.commit([5: .terminal(.accepted)])
    expect(answer.granted, is: 6)
    expect(answer.inDoubt, is: 5)
    // Outcomes from a stale claim raise the mark too, because their targets had been granted.
    try await world.command("HSET", world.keys.slice(0, of: "a"), "granted", 2, "doubt", 2)
    try await world.endLease("a")
    let owner = try await world.claimed("a").ledger
    expect(try await ledger.commit([7: .terminal(.accepted)]).granted, is: 8)
    expect(try await owner.commit(credit: 10).granted, is: 10)
  }

  @Test(arguments: Backend.allCases)
  func commitWhoseReplyWasLostCanBeRepeated(on backend: Backend) async throws {
    let world = try await TestStore(on: backend, partitions: 1)
    let ledger = try await world.sealed("a", count: 10, granted: 4)
    for _ in 0..<2 {
      // The second time no credit is requested. The high-water mark shows the targets that the first commit granted.
      let answer = try await ledger.commit([0: .terminal(.accepted), 1: .terminal(.badToken)], credit: 0)
      expect(answer.granted, is: 4)
      expect(answer.inDoubt, is: 2)
    }
    let slice = try await world.slice("a").numbers
    expect(slice["16"], is: 1)
    expect(slice["19"], is: 1)
  }

  @Test(arguments: Backend.allCases)
  func resentTargetsAreCounted(on backend: Backend) async throws {
    let world = try await TestStore(on: backend, partitions: 1)
    let ledger = try await world.sealed("a", count: 10)
    try await ledger.commit(credit: 10, resent: 3)
    try await ledger.commit(resent: 2)
    expect(try await world.store.campaigns.show("a")?.counters.resent, is: 5)
  }

  @Test(arguments: Backend.allCases)
  func ledgerIsTwelveBytesATargetAndNoMore(on backend: Backend) async throws {
    let world = try await TestStore(on: backend, partitions: 1)
    let ledger = try await world.sealed("a", count: 300, granted: 300)
    try await ledger.commit(.accepted, 0..<300)
    expect(try await world.command("STRLEN", world.keys.ledger(0, "a")).integer, is: 300 * LedgerRecord.size)
    try await ledger.commit([9: .terminal(.failed)])
    expect(try await world.command("STRLEN", world.keys.ledger(0, "a")).integer, is: 300 * LedgerRecord.size)
  }
}
