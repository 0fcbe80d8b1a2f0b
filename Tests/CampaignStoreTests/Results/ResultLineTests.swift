@testable import CampaignStore
import APNs
import PushCore
import Redis
import TestKit
import TestSupport
import Testing

/// Agreement of the results hash with the ledger for every token, in any order of outcomes.
struct ResultLineTests {
  /// More than two pages of targets.
  private static let count = 300

  @Test(arguments: Backend.allCases, [true, false])
  func resultsAgreeWithTheLedger(on backend: Backend, keepsAccepted: Bool) async throws {
    var seed = Seed("resultsAgreeWithTheLedger on \(backend), accepted too: \(keepsAccepted)")
    let world = try await TestStore(on: backend, partitions: 1)
    let stale = try await world.sealed("a", count: Self.count)
    try await world.endLease("a")
    let owner = try await world.claimed("a").ledger
    let chunk = try await owner.targets(from: 0, count: Self.count)
    try await owner.commit(credit: Self.count)
    for round in 0..<60 {
      // The first rounds record adjacent targets, as in a campaign. Later rounds record earlier targets with gaps, and
      // some twice.
      let start = round < 4 ? round * 70 : Int.random(in: 0..<Self.count, using: &seed)
      let indexes =
        round < 4
        ? Array(start..<(start + 70))
        : (0..<Int.random(in: 1...30, using: &seed)).map { _ in
          min(Self.count - 1, start + Int.random(in: 0..<40, using: &seed))
        }
      var batch = OutcomeBatch()
      for index in indexes {
        let isPlain = round < 4 && Int.random(in: 0..<10, using: &seed) > 0
        let record = isPlain ? Self.acceptance(&seed) : Self.anything(&seed)
        let isAccepted = record.state == .terminal(.accepted)
        if isAccepted, keepsAccepted, Bool.random(using: &seed) {
          batch.append(record, at: index, token: chunk.token(index))
        } else {
          batch.append(
            record, at: index, action: .none, token: chunk.token(index), user: chunk.user(index), timestamp: 0,
            keepsResult: keepsAccepted || !isAccepted, unknownReason: "Strange")
        }
      }
      let ledger = Int.random(in: 0..<4, using: &seed) > 0 ? owner : stale
      _ = try await ledger.commit(&batch, credit: 0)
      try await expectAgreement(world, keepsAccepted: keepsAccepted, round)
    }
  }

  @Test(arguments: Backend.allCases, [(100, ["listpack", "ziplist"]), (300, ["hashtable"])])
  func manyLinesAreATableFromTheBeginning(on backend: Backend, size: (count: Int, encodings: [String])) async throws {
    let world = try await TestStore(on: backend, partitions: 1)
    let ledger = try await world.sealed("a", count: size.count)
    let chunk = try await ledger.targets(from: 0, count: size.count)
    try await ledger.commit(credit: size.count)
    var batch = OutcomeBatch()
    for index in 0..<80 { batch.append(.terminal(.accepted), at: index, token: chunk.token(index)) }
    _ = try await ledger.commit(&batch, credit: 0)
    let key = world.keys.results(0, "a")
    // Before Redis 7 the small hash is a ziplist.
    let encoding = try #require(await world.command("OBJECT", "ENCODING", key).string)
    expect(size.encodings.contains(encoding))
    expect(try await world.command("HLEN", key).integer, is: 80)
  }

  private static func acceptance(_ seed: inout Seed) -> LedgerRecord {
    LedgerRecord(state: .terminal(.accepted), status: 200, at: .random(in: 1000...1001, using: &seed))
  }

  private static func anything(_ seed: inout Seed) -> LedgerRecord {
    let at = UInt64.random(in: 1000...9999, using: &seed)
    let attempt = UInt8.random(in: 0...1, using: &seed)
    switch Int.random(in: 0..<6, using: &seed) {
    case 0: return LedgerRecord(state: .waiting, attempt: attempt, status: 503, at: 3_600_000)
    case 1: return LedgerRecord(state: .terminal(.unknown), attempt: attempt, at: at)
    case 2: return LedgerRecord(state: .terminal(.rejected), attempt: attempt, status: 400, reason: .other, at: at)
    case 3:
      return LedgerRecord(
        state: .terminal(.badToken), attempt: attempt, status: 400, reason: Reason.badDeviceToken.code, at: at)
    default: return acceptance(&seed)
    }
  }

  private func expectAgreement(_ world: TestStore, keepsAccepted: Bool, _ round: Int) async throws {
    var expected: [String: String] = [:]
    try await world.store.results.forEachResult(of: "a") { page in
      for result in page {
        guard let outcome = result.outcome, keepsAccepted || outcome != .accepted else { continue }
        let status = result.status == 0 ? "-" : String(result.status)
        let reason = result.reason.isEmpty ? "-" : result.reason
        expected[TestStore.service.text(of: try #require(result.token))] =
          "\(outcome.name) \(status) \(reason) \(result.at)"
      }
      return true
    }
    let lines = try await world.command("HGETALL", world.keys.results(0, "a"))
    var stored: [String: String] = [:]
    for index in stride(from: 0, to: lines.count, by: 2) { stored[lines[index].string ?? ""] = lines[index + 1].string }
    expect(stored, is: expected, "round \(round)")
  }
}
