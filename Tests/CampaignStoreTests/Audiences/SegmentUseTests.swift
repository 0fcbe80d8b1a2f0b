@testable import CampaignStore
import APNs
import PushCore
import Redis
import TestKit
import TestSupport
import Testing

/// Segments that a campaign names or excludes. They stay for as long as the campaign may still be expanded, and names
/// that are read later keep their meaning.
struct SegmentUseTests {
  private static let audience = #"{"segment":"fans & !churned"}"#

  /// A store with twenty fans, fifteen of whom have churned.
  private func world(on backend: Backend, partitions: Int = 2) async throws -> TestStore {
    let world = try await TestStore(on: backend, partitions: partitions, users: 0..<20)
    try await world.store.audiences.add((0..<20).map { "u\($0)" }, to: "fans")
    try await world.store.audiences.add((5..<20).map { "u\($0)" }, to: "churned")
    return world
  }

  private func refusal(_ world: TestStore, _ name: String) async -> StoreError? {
    await #expect(throws: StoreError.self) { _ = try await world.store.audiences.removeSegment(name) }
  }

  @Test(arguments: Backend.allCases)
  func segmentThatACampaignNamesOrExcludesIsNotRemoved(on backend: Backend) async throws {
    let world = try await world(on: backend)
    let later = Timestamp.format(milliseconds: try await world.store.time() / 1000 + 3_600_000)
    try await world.activate("scheduled", audience: Self.audience, #","sendAt":"\#(later)""#)
    try await world.activate("again", audience: Self.audience, #","repeat":{"cron":"0 9 * * *"}"#)
    try await world.activate("running", audience: Self.audience)
    try await world.activate("paused", audience: #"{"segment":"*","exclude":{"segment":"churned"}}"#)
    try await world.store.campaigns.control("paused", .pause)
    let queued = TestStore.job("queued", audience: Self.audience)
    try await world.command("LPUSH", world.keys.campaigns, queued)
    let error = await refusal(world, "churned")
    expect(error?.code, is: .invalid)
    expect(
      error?.message.hasSuffix("not ended: again, paused, queued, running, scheduled"), is: true,
      "\(error?.message ?? "")")
    expect(error?.hint.contains("carillon campaign cancel again"), is: true)
    expect(await refusal(world, "fans")?.message.hasSuffix("not ended: again, queued, running, scheduled"), is: true)
    // The segment is unchanged.
    expect(try await world.store.audiences.segmentNames(), is: ["churned", "fans"])
    expect(try await world.store.audiences.size(ofSegment: "churned"), is: 15)
    // A campaign that has ended protects no segment.
    try await world.command("LTRIM", world.keys.campaigns, 1, 0)
    for id in ["scheduled", "again", "running", "paused"] { try await world.store.campaigns.control(id, .cancel) }
    expect(try await world.store.audiences.removeSegment("churned"))
    expect(try await world.store.audiences.size(ofSegment: "churned"), is: 0)
    expect(try await world.store.audiences.removeSegment("churned"), is: false)
  }

  @Test(arguments: Backend.allCases)
  func ruleOfACampaignAndItsListsAreNotRemoved(on backend: Backend) async throws {
    let world = try await world(on: backend)
    let rule = SegmentDefinition(expression: try AudienceExpression(parsing: "fans & !churned"))
    try await world.store.audiences.define("loyal", rule)
    let campaign = try await world.activate("a", audience: #"{"segment":"loyal"}"#)
    expect(await refusal(world, "loyal")?.message.hasSuffix("not ended: a"), is: true)
    // The running campaign keeps the earlier rule, so it still needs the list that the rule named.
    try await world.store.audiences.define(
      "loyal", SegmentDefinition(expression: try AudienceExpression(parsing: "fans")))
    expect(await refusal(world, "churned")?.message.hasSuffix("not ended: a"), is: true)
    let known = try #require(try await world.store.campaigns.findWithJob("a")).record.placement.definitions
    var running = campaign
    running.recipients.definitions = known
    var reached = 0
    for partition in 0..<2 {
      let ledger = try await world.claimed("a", partition).ledger
      reached += try #require(try await world.expand(ledger, running))
    }
    expect(reached, is: 5)
  }

  @Test(arguments: Backend.allCases)
  func emptySegmentExistsAndANeverImportedOneDoesNot(on backend: Backend) async throws {
    let world = try await world(on: backend)
    let campaign = try await world.activate("a", audience: Self.audience)
    _ = try await world.store.audiences.remove((0..<20).map { "u\($0)" }, from: "churned")
    expect(try await world.store.audiences.missingSegment(of: campaign), is: nil)
    // Another program removed the segment's name.
    try await world.command("SREM", world.keys.segments, "churned")
    expect(try await world.store.audiences.missingSegment(of: campaign), is: "churned")
    try await world.store.audiences.add(["u1"], to: "churned")
    expect(try await world.store.audiences.missingSegment(of: campaign), is: nil)
    // The start of a Live Activity excludes its present users. There are none yet.
    let start = try await world.activate("start", audience: #"{"segment":"fans","exclude":{"activity":"match"}}"#)
    expect(try await world.store.audiences.missingSegment(of: start), is: nil)
  }

  /// In any order, the segment stays, the job is rejected, or the worker that expands the campaign finds the segment
  /// missing.
  @Test(arguments: Backend.allCases)
  func concurrentRemovalAndIntakeNeverWidenAnAudience(on backend: Backend) async throws {
    let world = try await world(on: backend)
    var (kept, refused, found) = (0, 0, 0)
    for number in 0..<30 {
      try await world.store.audiences.add((5..<20).map { "u\($0)" }, to: "churned")
      let id = "a\(number)"
      let job = TestStore.job(id, audience: Self.audience)
      let campaign = try CampaignJob.parse(job, .any([APNsService()]))
      async let removing = Result { try await world.store.audiences.removeSegment("churned") }
      async let taking = Result { try await world.store.queue.activate(campaign, job: job, worker: "w") }
      let (removed, taken) = await ((try? removing.get()) ?? false, taking)
      guard case .success(.new) = taken else {
        expect(removed)
        refused += 1
        continue
      }
      let missing = try await world.store.audiences.missingSegment(of: campaign)
      if missing == nil {
        expect(
          try await world.store.audiences.size(ofSegment: "churned"), is: 15, "it is there, and its members are not")
        kept += 1
      } else {
        found += 1
      }
      try await world.store.campaigns.control(id, .cancel)
    }
    expect(kept + refused + found, is: 30)
  }

  @Test(arguments: Backend.allCases)
  func replacementGivesEachSliceTheOldOrTheNewList(on backend: Backend) async throws {
    let world = try await world(on: backend, partitions: 4)
    let campaign = try await world.activate("a", audience: #"{"segment":"fans"}"#)
    // The old members have even numbers, the new members odd ones.
    _ = try await world.store.audiences.remove((0..<20).filter { $0 % 2 == 1 }.map { "u\($0)" }, from: "fans")
    func users(_ partition: Int) async throws -> Set<String> {
      let ledger = try await world.claimed("a", partition).ledger
      let count = try #require(try await world.expand(ledger, campaign))
      let chunk = try await ledger.targets(from: 0, count: count)
      return Set((0..<count).map { String(decoding: chunk.user($0), as: UTF8.self) })
    }
    func expected(_ partition: Int, _ rest: Int) -> Set<String> {
      Set((0..<20).filter { $0 % 2 == rest }.map { "u\($0)" }.filter { Partition.of(user: $0, count: 4) == partition })
    }
    expect(try await users(0), is: expected(0, 0))
    var replacement = try await world.store.audiences.replacement(of: "fans")
    _ = try await world.store.audiences.add((0..<20).filter { $0 % 2 == 1 }.map { "u\($0)" }, to: &replacement)
    // The replacement has no effect while it is imported.
    expect(try await users(1), is: expected(1, 0))
    expect(try await world.store.audiences.missingSegment(of: campaign), is: nil)
    try await world.store.audiences.putInForce(replacement)
    expect(try await users(2), is: expected(2, 1))
    expect(try await users(3), is: expected(3, 1))
  }

  @Test(arguments: Backend.allCases)
  func optOutAndErasureBetweenSlicesCountForTheNext(on backend: Backend) async throws {
    let world = try await world(on: backend)
    let list = SuppressionList(app: "news").segment
    let second = (0..<20).map { "u\($0)" }.filter { Partition.of(user: $0, count: 2) == 1 }
    let (out, back, erased) = (second[0], second[1], second[2])
    try await world.store.audiences.add([back], to: list)
    let campaign = try await world.activate("a")
    let first = try await world.claimed("a", 0).ledger
    expect(try await world.expand(first, campaign), is: 20 - second.count)
    try await world.store.audiences.add([out], to: list)
    // The removal of the last opt-out leaves the list without members, and counts as an opt-in.
    _ = try await world.store.audiences.remove([back], from: list)
    _ = try await world.store.erasure.erase(erased)
    let ledger = try await world.claimed("a", 1).ledger
    let count = try #require(try await world.expand(ledger, campaign))
    let chunk = try await ledger.targets(from: 0, count: count)
    let reached = Set((0..<count).map { String(decoding: chunk.user($0), as: UTF8.self) })
    expect(reached, is: Set(second).subtracting([out, erased]))
  }
}

extension Result where Failure == any Error {
  /// Creates a result from an asynchronous call.
  fileprivate init(_ body: () async throws -> Success) async {
    do { self = .success(try await body()) } catch { self = .failure(error) }
  }
}
