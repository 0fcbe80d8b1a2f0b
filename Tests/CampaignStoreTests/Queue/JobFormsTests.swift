import APNs
import PushCore
import Redis
import TestKit
import TestSupport
import Testing

@testable import CampaignStore

/// Identity of jobs. The store identifies a job by its meaning, not by its spelling.
struct JobFormsTests {
  private static func bytes(_ changes: [String: String] = [:]) -> [UInt8] {
    Array(job(changes.merging(["payload": #"{"aps":{"alert":"hi"}}"#]) { own, _ in own }).utf8)
  }

  private func campaign(_ job: [UInt8]) throws -> Campaign { try CampaignJob.parse(job, .any([APNsService()])) }

  @Test func jobWithADefaultWrittenOutIsADuplicate() async throws {
    let world = try await TestStore(on: .cluster)
    let (plain, written) = (Self.bytes(), Self.bytes(["priority": "10"]))
    expect(try await world.store.queue.submit(plain, as: campaign(plain)), is: .new)
    expect(try await world.store.queue.submit(written, as: campaign(written)), is: .duplicate)
    let other = Self.bytes(["priority": "5"])
    expect(try await world.store.queue.submit(other, as: campaign(other)), is: .conflict)
    expect(try await world.store.queue.activate(campaign(written), job: written, worker: "w"), is: .new)
    expect(try await world.store.queue.activate(campaign(plain), job: plain, worker: "w"), is: .duplicate)
  }

  /// An earlier version made the digest from the job's text, and queued the job.
  @Test func jobThatAnEarlierVersionQueuedIsNoConflict() async throws {
    let world = try await TestStore(on: .cluster)
    let written = Self.bytes(["priority": "10"])
    let script = "return redis.call('SET', KEYS[1], redis.sha1hex(ARGV[1]), 'EX', 90)"
    try await world.command("EVAL", script, 1, world.keys.job("c1"), CampaignJob.canonical(written))
    expect(try await world.store.queue.submit(written, as: campaign(written)), is: .duplicate)
    expect(try await world.store.queue.activate(campaign(written), job: written, worker: "w"), is: .new)
    expect(try await world.store.queue.submit(written, as: campaign(written)), is: .duplicate)
  }

  /// A time in the past is an error in a new job only. A repeated job gets the same answer as before.
  @Test func untimelyJobIsRefusedUnlessItIsKnown() async throws {
    let world = try await TestStore(on: .cluster)
    let job = Self.bytes()
    let campaign = try campaign(job)
    let untimely = JobError(field: "sendAt", message: "passed 2h ago", hint: "check the date")
    for _ in 0..<2 {
      let error = await #expect(throws: StoreError.self) {
        _ = try await world.store.queue.submit(job, as: campaign, untimely: untimely)
      }
      expect(error?.code == .invalid && error?.message == "sendAt: passed 2h ago" && error?.hint == "check the date")
      await #expect(throws: StoreError.self) {
        _ = try await world.store.queue.activate(campaign, job: job, worker: "w", untimely: untimely)
      }
    }
    expect(try await world.store.queue.memory(of: "c1"), is: nil, "nothing is reserved")
    expect(try await world.store.queue.submit(job, as: campaign), is: .new)
    expect(try await world.store.queue.submit(job, as: campaign, untimely: untimely), is: .duplicate)
    expect(try await world.store.queue.activate(campaign, job: job, worker: "w", untimely: untimely), is: .new)
  }

  @Test func attributeThatNoUserHasIsFound() async throws {
    let world = try await TestStore(on: .cluster)
    // One partition has more users than Redis returns in one page.
    let fill = """
      for user = 1, 2000 do redis.call('HSET', KEYS[1], 'u' .. user, ARGV[1]) end
      return redis.call('HSET', KEYS[1], 'u1500', ARGV[2])
      """
    let rare = #"{"":[5,"rare",5],"rare":"1"}"#
    try await world.command("EVAL", fill, 1, world.keys.attributes(0), #"{"firstName":"A"}"#, rare)
    let found = try await world.store.registry.knownAttributes(["firstName"])
    expect(found.missing == [] && found.examined < 2000, "it ends when all are found")
    let missing = try await world.store.registry.knownAttributes(["firstname", "rare", "firstName"])
    expect(missing.missing == ["firstname"] && missing.names == ["firstName", "rare"])
    expect(missing.isComplete && missing.examined >= 2000)
    expect(try await !world.store.registry.knownAttributes(["none"], most: 1).isComplete)
  }
}
