@testable import CampaignStore
import Foundation
import PushCore
import Synchronization
import TestSupport
import Testing

/// Calls that a worker makes on the event loop that sends pushes. They read large jobs on a thread of their own.
struct LargeJobTests {
  enum Call: String, CaseIterable {
    case gate, receipts, erasure, segmentUse, decision
  }

  private static let users = (0..<3000).map { "\"u\($0)\"" }.joined(separator: ",")
  private static let stages =
    #","variants":[{"name":"a"},{"name":"b","apns":{"payload":{"n":2}}}],"stages":[{"share":0.5,"winner":{}}]"#

  @Test(arguments: Call.allCases)
  func largeJobIsReadOnItsThread(call: Call) async throws {
    let world = try await TestStore(on: .single, partitions: 1)
    try await world.activate("a", audience: #"{"users":[\#(Self.users)]}"#, Self.stages)
    let sizes = Mutex<[Int]>([])
    try await LargeJobThread.$beforeReading.withValue({ size in sizes.withLock { $0.append(size) } }) {
      switch call {
      case .gate: _ = try await world.store.campaigns.checkGate(of: "a", dueAt: 0)
      case .receipts: try await world.store.results.apply([ReceiptEvent(.opened, campaign: "a", user: "u1")])
      case .erasure: _ = try await world.store.erasure.erase("u1")
      case .segmentUse: _ = try await world.store.audiences.campaigns(using: "fans")
      case .decision: _ = try await world.store.campaigns.decide("a", variant: "a", by: "grace")
      }
    }
    #expect(sizes.withLock { $0.contains { $0 >= LargeJobThread.size } })
  }

  @Test func onlyLargeJobsLeaveTheCaller() async {
    let name = { @Sendable in Thread.current.description }
    let (small, large) = (await LargeJobThread.read(100, name), await LargeJobThread.read(20_000, name))
    #expect(await LargeJobThread.read(20_000, name) == large && small != large)
  }
}
