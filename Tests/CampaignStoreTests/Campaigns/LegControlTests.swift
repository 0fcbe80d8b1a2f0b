import APNs
import Foundation
import PushCore
import Redis
import TestKit
import TestPushService
import TestSupport
import Testing

@testable import CampaignStore

/// Pauses and resumes of single legs.
struct LegControlTests {
  private static let text = TextService()

  private struct World {
    let store: CampaignStore
    let campaigns: Campaigns
    private let world: TestStore

    init(on backend: Backend, _ fields: String = "") async throws {
      world = try await TestStore(on: backend, partitions: 4)
      let services = PushServices(
        standard: TestStore.service, others: [LegControlTests.text],
        apps: ["news": [TestStore.service, LegControlTests.text]])
      store = CampaignStore(redis: world.redis, keys: world.keys, services: services)
      campaigns = store.campaigns
      let job = Array(
        #"{"id":"a","app":"news","audience":{"segment":"*"},"message":{"body":"Hi"}\#(fields)}"#.utf8)
      let campaign = try CampaignJob.parse(job, .any([TestStore.service, LegControlTests.text]))
      expect(try await store.queue.activate(campaign, job: job, worker: "w"), is: .new)
    }

    /// Moves the planned start of the campaign three hours into the past.
    func startEarlier() async throws {
      let planned = try await store.time() / 1000 - 3 * 3_600_000
      for id in ["a", "a~main-apns", "a~main-text"] {
        _ = try await world.command(
          "HSET", world.keys.campaign(id), "sendAt", planned, "expiration", planned / 1000 + 7200)
      }
    }

    /// Returns the states of the campaign and of its parts, in their order.
    func states() async throws -> [CampaignState] {
      let record = try #require(try await campaigns.find("a"))
      return [record.state] + record.parts.map(\.state)
    }

    /// Returns the changes that webhooks get: ids and states.
    func changes() async throws -> [String] {
      try await world.command("XRANGE", world.keys.changes, "-", "+").map { entry in
        let fields = entry[1].map { $0.string ?? "" }
        return "\(fields[1]) \(fields[3])"
      }
    }

    func rounds() async throws -> [Int] {
      let record = try #require(try await campaigns.find("a"))
      return [record.resumes.round] + record.parts.map(\.resumes.round)
    }

    /// Ends a part.
    func end(_ part: String, _ state: CampaignState = .completed) async throws {
      _ = try await world.command("HSET", world.keys.campaign(part), "state", state.rawValue, "finishedAt", 1)
      try await campaigns.end(part)
    }
  }

  @Test(arguments: Backend.allCases)
  func pausedLegLeavesTheOtherRunning(on backend: Backend) async throws {
    let world = try await World(on: backend, #","also":["widgets"]"#)
    expect(try await world.campaigns.control("a~main-text", .pause, reason: "bad key"), is: .paused)
    expect(try await world.states(), is: [.active, .active, .active, .paused])
    let record = try #require(try await world.campaigns.find("a"))
    expect(record.parts.map(\.id), is: ["a~main-apns", "a~main-apns.widgets", "a~main-text"])
    expect(record.pausedLegs.map(\.id) == ["a~main-text"] && record.pausedLegs[0].reason == "bad key")
    expect(try await world.campaigns.timeline(of: "a").last?.reason, is: "leg text: bad key")
    // A pause of the companion's leg pauses the leg itself, and then nothing of the campaign can continue.
    expect(try await world.campaigns.control("a~main-apns.widgets", .pause, reason: "refused"), is: .paused)
    expect(try await world.states(), is: [.paused, .paused, .paused, .paused])
    expect(try await world.campaigns.find("a")?.pausedItself, is: true)
  }

  /// Each leg that begins with a resume after its planned start counts its expiration from the resume.
  @Test func lateLegStartsWithItsResume() async throws {
    let tomorrow = Timestamp.format(milliseconds: Int(Date.now.timeIntervalSince1970 + 86_400) * 1000)
    let world = try await World(on: .single, #","expiration":"2h","sendAt":"\#(tomorrow)""#)
    expect(try await world.campaigns.control("a", .pause), is: .paused)
    try await world.startEarlier()
    let before = try await world.store.time() / 1000
    expect(try await world.campaigns.resume("a", unguarded: false, by: "ada", service: "text").state, is: .active)
    let text = try #require(try await world.campaigns.find("a~main-text"))
    expect(try await world.campaigns.resume("a", unguarded: false, by: "ada").state, is: .active)
    let apns = try #require(try await world.campaigns.find("a~main-apns"))
    for leg in [text, apns] {
      expect(leg.start >= before && leg.delivery.expiration == leg.start / 1000 + 7200, "\(leg.id)")
    }
    // The leg that had begun keeps its start.
    expect(try await world.campaigns.find("a~main-text")?.start, is: text.start)
  }

  @Test(arguments: Backend.allCases)
  func resumeOfALegLeavesTheOtherPaused(on backend: Backend) async throws {
    let world = try await World(on: backend)
    expect(try await world.campaigns.control("a", .pause), is: .paused)
    expect(try await world.states(), is: [.paused, .paused, .paused])
    expect(try await world.campaigns.resume("a", unguarded: false, by: "ada", service: "text").state, is: .active)
    expect(try await world.states(), is: [.active, .paused, .active])
    expect(try await world.rounds(), is: [0, 0, 1])
    // A request of a worker that does not know of the resume changes nothing.
    expect(try await world.campaigns.control("a~main-text", .pause, round: 0), is: .active)
    expect(try await world.states(), is: [.active, .paused, .active])
    // A resume of the campaign resumes the paused leg, although the campaign itself is active.
    let answer = try await world.campaigns.resume("a", unguarded: false, by: "ada")
    expect(answer.state == .active && answer.resumed == [ResumedCampaign(id: "a~main-apns", reason: nil)])
    expect(try await world.states(), is: [.active, .active, .active])
    expect(try await world.rounds(), is: [1, 1, 2])
    expect(try await world.campaigns.find("a")?.parts.compactMap(\.reason), is: [])
  }

  @Test(arguments: Backend.allCases)
  func campaignIsPausedWhenOnlyAPausedLegIsLeft(on backend: Backend) async throws {
    let world = try await World(on: backend)
    _ = try await world.campaigns.control("a~main-text", .pause, reason: "bad key")
    try await world.end("a~main-apns")
    expect(try await world.states(), is: [.paused, .completed, .paused])
    let record = try #require(try await world.campaigns.find("a"))
    expect(record.pausedItself && record.reason == "bad key" && record.pausedLegs.isEmpty)
    expect(try await world.campaigns.resume("a", unguarded: false, by: "ada", service: "text").state, is: .active)
    expect(try await world.states(), is: [.active, .completed, .active])
    expect(try await world.campaigns.find("a")?.reason, is: nil)
    try await world.end("a~main-text")
    expect(try await world.states(), is: [.completed, .completed, .completed])
  }

  @Test(arguments: Backend.allCases)
  func cancelEndsAPausedLegToo(on backend: Backend) async throws {
    let world = try await World(on: backend)
    _ = try await world.campaigns.control("a~main-text", .pause)
    expect(try await world.campaigns.control("a~main-text", .cancel), is: .cancelled)
    expect(try await world.states(), is: [.cancelled, .cancelled, .cancelled])
  }

  @Test(arguments: Backend.allCases)
  func nextStageOfAPausedLegWaitsForItsResume(on backend: Backend) async throws {
    let world = try await World(on: backend, #","stages":[{"share":0.5,"maxFailures":0.5}]"#)
    expect(try await world.states(), is: [.active, .active, .active, .waiting, .waiting])
    _ = try await world.campaigns.control("a~1-text", .pause, reason: "bad key")
    expect(try await world.states(), is: [.active, .active, .paused, .waiting, .paused])
    let paused = try #require(try await world.campaigns.find("a"))
    expect(paused.pausedLegs.map(\.id), is: ["a~1-text"], "one alarm for the leg, not one for each of its parts")
    expect(try await world.changes().filter { $0.hasSuffix("paused") }, is: ["a~1-text paused"])
    expect(try await world.campaigns.checkGate(of: "a", dueAt: 0), is: .waits, "no leg has ended")
    try await world.end("a~1-apns")
    // The gate has no answer to judge by, so a person decides.
    guard case .paused = try await world.campaigns.checkGate(of: "a", dueAt: 0) else {
      throw TestSupportError("the gate is not judged without the paused leg")
    }
    _ = try await world.campaigns.resume("a", unguarded: false, by: "ada")
    _ = try await world.campaigns.control("a~1-text", .pause, reason: "bad key")
    expect(try await world.campaigns.checkGate(of: "a", dueAt: 0), is: .opened(stage: "rest", winner: nil))
    expect(try await world.states(), is: [.active, .completed, .paused, .active, .paused])
    _ = try await world.campaigns.resume("a", unguarded: false, by: "ada", service: "text")
    expect(try await world.states(), is: [.active, .completed, .active, .active, .active])
  }

  @Test func unknownLegIsAnError() async throws {
    let world = try await World(on: .single)
    let error = await #expect(throws: StoreError.self) {
      try await world.campaigns.resume("a", unguarded: false, by: "ada", service: "fcm")
    }
    expect(error?.message.contains("no leg for 'fcm'") == true && error?.hint.contains("apns, text") == true)
  }
}
