@testable import CampaignStore
import APNs
import PushCore
import TestKit
import TestSupport
import Testing

/// Templates in the store, and jobs that use them.
struct TemplateTests {
  private static func content(_ text: String) throws -> [UInt8] {
    try JobTemplate.content(Array(text.utf8), for: [APNsService()])
  }

  private static func job(_ template: String, _ more: String = "") -> [UInt8] {
    Array(#"{"id":"t","app":"news","audience":{"segment":"*"},"template":\#(template)\#(more)}"#.utf8)
  }

  @Test(arguments: Backend.allCases)
  func versionsNeverChange(backend: Backend) async throws {
    let world = try await TestStore(on: backend, partitions: 1)
    let (first, second) = (
      try Self.content(#"{ "apns": {"payload": {"a":1}} }"#), try Self.content(#"{"apns":{"payload":{"a":2}}}"#)
    )
    expect(try await world.store.campaigns.put(first, asTemplate: "hi"), is: 1)
    expect(try await world.store.campaigns.put(first, asTemplate: "hi"), is: 1, "the same again is the same")
    expect(try await world.store.campaigns.put(second, asTemplate: "hi"), is: 2)
    expect(try await world.store.campaigns.put(first, asTemplate: "hi"), is: 3)
    let oldest = try await world.store.campaigns.template(#require(TemplateReference("hi@1")))
    expect(oldest, is: JobTemplate(name: "hi", version: 1, content: Array(#"{"apns":{"payload":{"a":1}}}"#.utf8)))
    expect(try await world.store.campaigns.template(#require(TemplateReference("hi")))?.version, is: 3)
    expect(try await world.store.campaigns.template(#require(TemplateReference("hi@4"))), is: nil)
    expect(try await world.store.campaigns.templates().map { "\($0.name)@\($0.version)" }, is: ["hi@3"])
    expect(try await world.store.campaigns.removeTemplate("hi"))
    expect(try await world.store.campaigns.templates().isEmpty)
    expect(try await !world.store.campaigns.removeTemplate("hi"))
  }

  /// A job gets the newest version at its intake and keeps it.
  @Test func campaignKeepsTheVersionOfItsIntake() async throws {
    let world = try await TestStore(on: .single, partitions: 1)
    _ = try await world.store.campaigns.put(
      Self.content(#"{"apns":{"payload":{"aps":{"alert":"Hi {{name}}"}}}}"#), asTemplate: "hi")
    let job = Self.job(#""hi""#)
    let resolved = try await world.store.campaigns.resolve(job)
    let campaign = try CampaignJob.parse(resolved, .any([APNsService()]))
    expect(try await world.store.queue.activate(campaign, job: job, resolved: resolved, worker: "w"), is: .new)
    _ = try await world.store.campaigns.put(
      Self.content(#"{"apns":{"payload":{"aps":{"alert":"Bye"}}}}"#), asTemplate: "hi")
    _ = try await world.store.campaigns.removeTemplate("hi")
    let kept = try #require(try await world.store.campaigns.findWithJob("t")?.job)
    expect(try CampaignJob.parse(kept, .any([APNsService()])), is: campaign)
    expect(String(decoding: kept, as: UTF8.self).contains(#""template":{"name":"hi","version":1,"apns":{"payload":"#))
    // The id stands for the job as the producer wrote it.
    expect(try await world.store.queue.submit(job, as: campaign), is: .duplicate)
  }

  @Test func wrongTemplatesHaveDifferentErrors() async throws {
    let world = try await TestStore(on: .single, partitions: 1)
    _ = try await world.store.campaigns.put(Self.content(#"{"apns":{"payload":{"a":1}}}"#), asTemplate: "welcome")
    for (template, says) in [
      (#""welcom""#, "did you mean welcome?"), (#""welcome@2""#, "template list"), (#""a b""#, "NAME@3"),
      ("{}", "NAME@3"),
      (#""welcome@0""#, "NAME@3"), (#""none""#, "template put none FILE"),
    ] {
      let error = await #expect(throws: StoreError.self) { try await world.store.campaigns.resolve(Self.job(template)) }
      expect(error?.code == .invalid && "\(error?.message ?? "") \(error?.hint ?? "")".contains(says), "\(template)")
    }
    let both = try await world.store.campaigns.resolve(Self.job(#""welcome""#, #","message":{}"#))
    let error = #expect(throws: JobError.self) { try CampaignJob.parse(both, .any([APNsService()])) }
    expect(error?.field == "message" && error?.message == "can't be combined with template")
    expect(try await world.store.campaigns.resolve(Array("no job".utf8)), is: Array("no job".utf8))
  }

  @Test(arguments: [
    ("[]", "must be"), ("{}", "message: is missing"), (#"{"apns":{"payload":{"a":"{{}}"}}}"#, "has no valid name"),
    (#"{"payload":{}}"#, #"write {"apns":{"payload":…}}"#), ("{", "not valid JSON"),
    (#"{"apns":{"payload":{"a":"\#(String(repeating: "x", count: 66_000))"}}}"#, "over the limit of 65536"),
  ])
  func templateIsCheckedWhenItIsPut(text: String, says: String) {
    let error = #expect(throws: JobError.self) { try Self.content(text) }
    expect(error?.description.contains(says), is: true, "\(error?.description ?? "")")
  }
}
