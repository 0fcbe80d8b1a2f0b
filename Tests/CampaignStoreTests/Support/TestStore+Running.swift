@testable import CampaignStore
import PushCore
import Redis
import TestKit
import Testing

/// Campaigns that run to their end without a worker.
extension TestStore {
  /// Returns the partitions whose slices wait for a worker.
  func openSlices(_ id: String) async throws -> Set<Int> {
    let open = try await command("LRANGE", keys.open(id), 0, -1).compactMap(\.integer)
    expect(Set(open).count, is: open.count)
    return Set(open)
  }

  /// Takes slice after slice of the only campaign and ends each with all targets accepted.
  ///
  /// - Returns: the partitions of the slices.
  func workOff(_ campaign: Campaign, ending: Closing = .finish) async throws -> Set<Int> {
    var partitions: Set<Int> = []
    while let slice = try await store.slices.dequeueSlice(worker: "w") {
      expect(slice.campaign, is: campaign.id)
      expect(partitions.insert(slice.partition).inserted)
      try await end(slice, of: campaign, ending)
    }
    return partitions
  }

  func end(
    _ slice: SliceReference, of campaign: Campaign, _ ending: Closing = .finish
  ) async throws {
    let ledger = try await claimed(slice.campaign, slice.partition).ledger
    if ending == .finish {
      let count = try #require(try await expand(ledger, campaign))
      try await ledger.commit(credit: count)
      try await ledger.commit(.accepted, 0..<count)
    }
    let counters = try #require(try await ledger.close(ending).counters)
    _ = try await store.slices.finish(slice, counters: counters, lane: campaign.delivery.lane, worker: "w")
  }

  /// Runs a campaign to its end and compares the result with its audience: results, counters, and the expiry of all its
  /// keys.
  ///
  /// - Parameter slices: its final number of slices; `nil` for the number of slices that this call ends.
  func expectEnd(
    of campaign: Campaign, _ users: Set<String>, slices: Int? = nil
  ) async throws {
    let count = try await workOff(campaign).count
    let slices = slices ?? count
    let record = try #require(try await store.campaigns.show(campaign.id))
    expect(record.state, is: .completed)
    expect((record.slices.finished, record.slices.total) == (slices, slices))
    expect(record.counters.targets, is: users.count)
    expect(record.counters.outcomes, is: users.isEmpty ? [:] : [.accepted: users.count])
    var found: [String] = []
    try await store.results.forEachResult(of: campaign.id) { page in
      found += page.map(\.user)
      return true
    }
    expect(found.sorted(), is: users.sorted())
    let own = try await keyNames("{\(keys.namespace)*:\(campaign.id)")
    expect(own.count >= slices)
    for key in own where key != keys.job(campaign.id) {
      expect(try #require(try await command("TTL", key).integer) > 0, "\(key)")
    }
  }
}
