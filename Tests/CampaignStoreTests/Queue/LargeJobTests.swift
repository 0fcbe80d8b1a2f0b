@testable import CampaignStore
import APNs
import Foundation
import PushCore
import Synchronization
import TestKit
import TestSupport
import Testing

/// Calls that a worker makes on the event loop that sends pushes. They read large jobs on a thread of their own.
struct LargeJobTests {
  /// A call, and how often it reads a large text.
  enum Call: String, CaseIterable {
    case gate, stages, receipts, segmentUse, decision, repetition, missedRuns, runJob, definitions, activation
    case erasure, erasureOfAWaitingJob, deadList, waitingJobs, backlog, unqueue

    var reads: Int {
      switch self {
      case .gate, .receipts, .decision, .repetition, .missedRuns, .runJob, .definitions, .waitingJobs, .backlog,
        .erasure:
        1
      // The whole campaign and its next stage; the stored form of a new job and its text without white space; the
      // outline of a job and its stored form.
      case .stages, .activation, .deadList, .unqueue: 2
      // The campaign and its parts.
      case .segmentUse: 3
      // The campaign's job, and the outline and the recipients of the waiting job twice.
      case .erasureOfAWaitingJob: 5
      }
    }
  }

  private static let users = (0..<3000).map { "\"u\($0)\"" }.joined(separator: ",")
  private static let audience = #"{"users":[\#(users)]}"#
  private static let stages =
    #","variants":[{"name":"a"},{"name":"b","apns":{"payload":{"n":2}}}],"stages":[{"share":0.5,"winner":{}}]"#

  /// A store with the running campaign `a`, the recurring campaign `digest` that is due, and the waiting job `next`.
  private func world(_ call: Call) async throws -> TestStore {
    let world = try await TestStore(on: .single, partitions: 1)
    try await world.activate("a", audience: Self.audience, Self.stages)
    switch call {
    case .repetition, .missedRuns, .runJob:
      try await world.activate("digest", audience: Self.audience, #","repeat":{"cron":"0 * * * *"}"#)
      if call == .missedRuns { try await world.store.campaigns.control("digest", .pause) }
      let due = try await world.store.time() / 1000 / 3_600_000 * 3_600_000
      try await world.command("HSET", world.keys.campaign("digest"), "sendAt", due)
      try await world.command("ZADD", world.keys.schedule, "XX", due, "digest")
      if call == .runJob {
        expect(try await world.store.queue.promote(["digest"]).count, is: 1)
      }
    case .erasureOfAWaitingJob, .waitingJobs, .backlog, .unqueue:
      try await world.command("LPUSH", world.keys.campaigns, TestStore.job("next", audience: Self.audience))
    case .definitions:
      try await world.store.audiences.add(["u1"], to: "fans")
      for number in 0..<40 {
        let expression = Array(repeating: "fans", count: 100).joined(separator: " | ")
        try await world.store.audiences.define(
          "rule\(number)", SegmentDefinition(expression: AudienceExpression(parsing: expression)))
      }
    default: break
    }
    return world
  }

  @Test(arguments: Call.allCases)
  func largeJobIsReadOnItsThread(call: Call) async throws {
    let world = try await world(call)
    let store = world.store
    let run = try await store.campaigns.find("digest")?.repetition?.lastRun
    let sizes = Mutex<[Int]>([])
    try await LargeJobThread.$beforeReading.withValue({ size in sizes.withLock { $0.append(size) } }) {
      switch call {
      case .gate: _ = try await store.campaigns.checkGate(of: "a", dueAt: 0)
      case .receipts: try await store.results.apply([ReceiptEvent(.opened, campaign: "a", user: "u1")])
      case .erasure, .erasureOfAWaitingJob: _ = try await store.erasure.erase("u1")
      case .segmentUse: _ = try await store.audiences.campaigns(using: "fans")
      case .decision: _ = try await store.campaigns.decide("a", variant: "a", by: "grace")
      case .repetition: expect(try await store.queue.promote(["digest"]).count, is: 1)
      case .missedRuns: _ = try await store.campaigns.resume("digest", unguarded: false, by: "grace")
      case .runJob: expect(try await store.queue.job(ofRun: run ?? "") != nil)
      case .definitions: expect(try await store.audiences.definitions().all.count, is: 40)
      case .stages:
        let job = TestStore.job("a", audience: Self.audience, Self.stages)
        let rest = try CampaignJob.part(CampaignID("a~rest"), of: job, .any([APNsService()]), start: 1)
        try await store.campaigns.restoreStage(of: rest, job: job, start: 1)
      case .activation: try await world.activate("b", audience: Self.audience)
      case .deadList:
        let job = TestStore.job("next", audience: Self.audience)
        try await store.queue.deadLetter(job, reason: "r", hint: "", worker: "w")
      case .waitingJobs: expect(try await store.queue.waiting().jobs.count, is: 1)
      case .backlog: expect(try await store.fleet.snapshot(lease: 1000).queues.intake.count, is: 1)
      case .unqueue: expect(try await store.queue.unqueue("next", timeout: 0))
      }
    }
    let large = sizes.withLock { $0.count { $0 >= LargeJobThread.size } }
    expect(large, is: call.reads)
  }

  /// The job of a campaign is read once, and not for each page of receipts.
  @Test func receiptsReadTheJobOnce() async throws {
    let world = try await world(.receipts)
    let sizes = Mutex<[Int]>([])
    try await LargeJobThread.$beforeReading.withValue({ size in sizes.withLock { $0.append(size) } }) {
      for user in 0..<5 {
        try await world.store.results.apply([ReceiptEvent(.opened, campaign: "a", user: "u\(user)")])
      }
    }
    expect(sizes.withLock { $0.count }, is: 1)
  }

  @Test func onlyLargeJobsLeaveTheCaller() async {
    let name = { @Sendable in Thread.current.description }
    let (small, large) = (await LargeJobThread.read(100, name), await LargeJobThread.read(20_000, name))
    expect(small != large)
  }
}
