@testable import CampaignStore
import PushCore
import Redis
import TestKit
import TestSupport
import Testing

/// Changes of campaigns and alarms, recorded for webhooks.
struct ChangeTests {
  @Test(arguments: Backend.allCases)
  func lifeOfACampaignIsNotedInOrder(on backend: Backend) async throws {
    let world = try await TestStore(on: backend, partitions: 1)
    let before = try await world.store.results.statuses(of: ["w"])
    expect(before.statuses == [WebhookStatus(name: "w", position: "0-0")] && before.latest == "0-0")
    try await world.activate("a")
    _ = try await world.store.campaigns.control("a", .pause, reason: "wrong")
    _ = try await world.store.campaigns.control("a", .pause, reason: "again")
    _ = try await world.store.campaigns.controlEverywhere("a", .resume, lease: 1)
    let slice = try #require(try await world.store.slices.dequeueSlice(worker: "w"))
    let end = try await world.store.slices.finish(slice, counters: SliceCounters(), lane: .normal, worker: "w")
    expect(end, is: .completed)
    let sendAt = try await world.store.time() / 1000 + 86_400_000
    try await world.activate("b", #","sendAt":"\#(Timestamp.format(milliseconds: sendAt))""#)
    let (changes, last) = try await world.store.results.changes(after: "0-0")
    expect(
      changes.map(\.subject),
      is: [
        .campaign(id: "a", state: "active"), .campaign(id: "a", state: "paused"), .campaign(id: "a", state: "active"),
        .campaign(id: "a", state: "completed"), .campaign(id: "b", state: "scheduled"),
      ])
    expect(changes[1].text == "wrong" && changes[1].isByWorker && !changes[2].isByWorker)
    expect(last == changes.last?.id && Set(changes.map(\.id)).count == 5)
    expect(try await world.store.results.changes(after: changes[2].id).changes.count, is: 2)
    // A new webhook gets only changes from now on.
    let after = try await world.store.results.statuses(of: ["new", "w"])
    expect(after.statuses.map(\.position) == [last, "0-0"] && after.latest == last)
    try await world.store.results.save(
      WebhookStatus(name: "w", position: changes[1].id, failures: 2, retryAt: 77, error: "no: way"))
    let fleet = try await world.store.fleet.snapshot(lease: TestStore.timeout)
    expect(
      fleet.problems.isEmpty && fleet.webhooks.map(\.name) == ["new", "w"] && fleet.webhooks.map(\.backlog) == [0, 3])
    expect(fleet.webhooks[1].failures == 2 && fleet.webhooks[1].retryAt == 77 && fleet.webhooks[1].error == "no: way")
    expect(!fleet.alarms().contains { $0.kind == .webhook })
    try await world.store.results.save(WebhookStatus(name: "w", position: changes[1].id, failures: 5, error: "no"))
    expect(
      try await world.store.fleet.snapshot(lease: TestStore.timeout).alarms().filter { $0.kind == .webhook }.map(
        \.text), is: ["webhook w has 3 undelivered events: no"])
  }

  /// The slices of a cancelled campaign are closed later. That is not a second change.
  @Test(arguments: Backend.allCases)
  func cancelIsRecordedOnce(on backend: Backend) async throws {
    let world = try await TestStore(on: backend, partitions: 1, activating: "a")
    let slice = try #require(try await world.store.slices.dequeueSlice(worker: "w"))
    _ = try await world.store.campaigns.control("a", .cancel)
    let end = try await world.store.slices.finish(slice, counters: SliceCounters(), lane: .normal, worker: "w")
    expect(end, is: .cancelled)
    let changes = try await world.store.results.changes(after: "0-0").changes
    expect(
      changes.map(\.subject), is: [.campaign(id: "a", state: "active"), .campaign(id: "a", state: "cancelled")])
  }

  @Test(arguments: Backend.allCases)
  func alarmIsRecordedWhenRaisedAndWhenCleared(on backend: Backend) async throws {
    let world = try await TestStore(on: backend, partitions: 1)
    let dead = FleetAlarm(.dead, "dead", "1 job", hint: "r")
    let memory = FleetAlarm(.memory, "a b", "90 %", hint: "r")
    expect(try await world.store.results.record([dead]), is: 1)
    var more = dead
    more.text = "2 jobs"
    expect(try await world.store.results.record([more]), is: 0)
    expect(try await world.store.results.record([more, memory]), is: 1)
    expect(try await world.store.results.record([memory]), is: 1)
    expect(try await world.store.results.record([]), is: 1)
    let changes = try await world.store.results.changes(after: "0-0").changes
    expect(
      changes.map(\.subject),
      is: [
        .alarm(kind: "dead", subject: "dead", isRaised: true), .alarm(kind: "memory", subject: "a b", isRaised: true),
        .alarm(kind: "dead", subject: "dead", isRaised: false), .alarm(kind: "memory", subject: "a b", isRaised: false),
      ])
    expect(changes.map(\.text), is: ["1 job", "90 %", "2 jobs", "90 %"])
  }

  /// An entry for webhooks must not stop a campaign.
  @Test(arguments: Backend.allCases)
  func campaignsContinueIfChangesCannotBeRecorded(on backend: Backend) async throws {
    let world = try await TestStore(on: backend, partitions: 1)
    try await world.command("SET", world.keys.changes, "x")
    try await world.activate("a")
    _ = try await world.store.campaigns.control("a", .pause)
    _ = try await world.store.campaigns.control("a", .resume)
    let slice = try #require(try await world.store.slices.dequeueSlice(worker: "w"))
    let end = try await world.store.slices.finish(slice, counters: SliceCounters(), lane: .normal, worker: "w")
    expect(end, is: .completed)
  }
}
