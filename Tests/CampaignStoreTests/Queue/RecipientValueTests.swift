@testable import CampaignStore
import APNs
import PushCore
import Redis
import TestKit
import TestSupport
import Testing

/// Values of recipients, inside and outside the job, from the store to the payload.
struct RecipientValueTests {
  private static let payload = #"{"id":"c","app":"news","apns":{"payload":{"aps":{"alert":"{{x|none}}"}}},"#

  /// Returns the text that each user is sent.
  private static func texts(_ world: TestStore, _ campaign: Campaign) async throws -> [String: String] {
    let filter = DeviceFilter(campaign, service: APNsService(), environment: "production", start: 0)
    let content = try #require(campaign.message.content)
    var texts: [String: String] = [:]
    for partition in 0..<world.keys.partitions {
      guard let ledger = try? await world.claimed(campaign.id, partition).ledger,
        let chunk = try await world.store.expansion.expand(ledger, of: campaign, filter: filter)?.chunk
      else { continue }
      for position in 0..<chunk.count {
        var payload: [UInt8] = []
        expect(content.write(chunk.values(position), id: (0, 0), most: 4096, to: &payload))
        texts[String(decoding: chunk.user(position), as: UTF8.self)] = String(decoding: payload, as: UTF8.self)
      }
    }
    return texts
  }

  private static func text(_ value: String) -> String { #"{"aps":{"alert":"\#(value)"}}"# }

  private static func activate(
    _ world: TestStore, _ rest: String, _ payload: String = payload
  ) async throws -> Campaign {
    let job = Array((payload + rest + "}").utf8)
    let campaign = try CampaignJob.parse(job, .any([APNsService()]))
    expect(try await world.store.queue.activate(campaign, job: job, worker: "w"), is: .new)
    return campaign
  }

  @Test(arguments: Backend.wholeWay)
  func jobContainsTheValuesOfItsRecipients(backend: Backend) async throws {
    let world = try await TestStore(on: backend, partitions: 3, users: 0..<20)
    let users = (0..<20).map { $0 % 2 == 0 ? #"{"user":"u\#($0)","vars":{"x":\#($0)}}"# : #""u\#($0)""# }
    let campaign = try await Self.activate(world, #""audience":{"users":[\#(users.joined(separator: ","))]}"#)
    let texts = try await Self.texts(world, campaign)
    expect(
      texts,
      is: Dictionary(uniqueKeysWithValues: (0..<20).map { ("u\($0)", Self.text($0 % 2 == 0 ? "\($0)" : "none")) }))
  }

  @Test(arguments: Backend.wholeWay)
  func valuesAreUploadedSeparatelyFromTheJob(backend: Backend) async throws {
    let world = try await TestStore(on: backend, partitions: 3, users: 0..<20)
    let lines = (0..<10).map { #"{"user":"u\#($0)", "vars":{"x": "v\#($0)"}}"# }
    try await world.store.queue.put(lines.map { try JobRecipient.line($0) }.map { ($0.user, $0.values) }, of: "c")
    let key = world.keys.values(Partition.of(user: "u0", count: 3), "c")
    expect(try await world.command("TTL", key).integer ?? 0 > 0, "without a job they go by themselves")
    let campaign = try await Self.activate(world, #""audience":{"segment":"*"},"vars":true"#)
    expect(try await world.command("TTL", key).integer, is: -1)
    let legs = try await world.store.campaigns.targets(
      of: "u3", in: [campaign],
      filter: DeviceFilter(campaign, service: APNsService(), environment: "production", start: 0),
      isNew: false)
    let seen = try #require(legs.first)
    expect(seen.positions.count == 1 && !seen.isSealed)
    let texts = try await Self.texts(world, campaign)
    expect(
      texts, is: Dictionary(uniqueKeysWithValues: (0..<20).map { ("u\($0)", Self.text($0 < 10 ? "v\($0)" : "none")) }))
    let error = await #expect(throws: StoreError.self) { try await world.store.queue.put([("u1", [])], of: "c") }
    expect(error?.code, is: .invalid)
  }

  /// The values are stored under the campaign, whatever parts it has. They stay until all parts have ended.
  @Test(arguments: Backend.wholeWay)
  func partsHaveTheValuesOfTheWhole(backend: Backend) async throws {
    let world = try await TestStore(on: backend, partitions: 3, users: 0..<200)
    let lines = (0..<200).map { #"{"user":"u\#($0)","vars":{"x":"v\#($0)"}}"# }
    try await world.store.queue.put(lines.map { try JobRecipient.line($0) }.map { ($0.user, $0.values) }, of: "c")
    let whole = try await Self.activate(world, #""audience":{"segment":"*"},"vars":true,"stages":[{"share":0.5}]"#)
    var texts: [String: String] = [:]
    for part in ["c~1", "c~rest"] {
      let (record, job) = try #require(try await world.store.campaigns.findWithJob(part))
      let campaign = try record.campaign(job, .any([APNsService()]))
      expect(try await world.store.queue.values(of: "u7", in: campaign), is: Array(#"{"x":"v7"}"#.utf8))
      texts.merge(try await Self.texts(world, campaign)) { _, _ in "twice" }
    }
    expect(texts, is: Dictionary(uniqueKeysWithValues: (0..<200).map { ("u\($0)", Self.text("v\($0)")) }))
    expect(whole.parts.count, is: 2)
  }

  @Test(arguments: [
    ("{", "not valid JSON"), (#""ada""#, "must be"), (#"{"user":"ada"}"#, "vars: is missing"),
    (#"{"vars":{}}"#, "user: is missing"),
    (#"{"user":"ada","vars":{"x":[1]}}"#, "vars.x: must be a string"), (#"{"user":"","vars":{}}"#, "user"),
  ])
  func badLinesSayWhy(line: String, says: String) {
    let error = #expect(throws: JobError.self) { try JobRecipient.line(line) }
    expect(error?.reason.contains(says), is: true, "\(error?.reason ?? "")")
  }
}
