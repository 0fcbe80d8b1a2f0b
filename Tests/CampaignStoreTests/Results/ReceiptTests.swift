@testable import CampaignStore
import PushCore
import Redis
import TestKit
import Testing

/// Receipts: the actions of users on pushes, as the app reports them.
struct ReceiptTests {
  @Test(arguments: Backend.allCases)
  func userCountsOnceForEachReceiptKind(on backend: Backend) async throws {
    let world = try await TestStore(on: backend, users: 0..<700)
    let campaign = try await world.activate("a", #","ttl":"1h""#)
    func record(_ kind: ReceiptEvent.Kind, _ users: Range<Int>, of id: String = "a") async throws {
      try await world.store.results.apply(users.map { ReceiptEvent(kind, campaign: id, user: "u\($0)") })
    }
    func receipts() async throws -> [ReceiptEvent.Kind: Int] {
      try await world.store.results.receipts(of: #require(try await world.store.campaigns.find("a")))
    }
    // Some receipts come during the sending, some come twice, and some name an unknown campaign.
    while let slice = try await world.store.slices.dequeueSlice(worker: "w") {
      try await world.end(slice, of: campaign)
      try await record(.delivered, 0..<600)
    }
    try await record(.opened, 0..<100)
    try await record(.opened, 50..<150)
    try await record(.opened, 0..<10, of: "unknown")
    expect(try await receipts(), is: [.delivered: 600, .opened: 150, .dismissed: 0])
    // Receipts of an ended campaign expire with it, including later ones.
    try await world.store.campaigns.end("a")
    try await record(.dismissed, 0..<20)
    expect(try await receipts(), is: [.delivered: 600, .opened: 150, .dismissed: 20])
    let own = try await world.keyNames("{\(world.keys.namespace):*:a").filter { $0.contains("ed:a") }
    expect(own.count >= 3)
    for key in own { expect(try #require(try await world.command("TTL", key).integer) > 0, "\(key)") }
    expect(try await world.keyNames("*\(world.keys.namespace)*unknown").isEmpty)
  }

  @Test(arguments: Backend.allCases)
  func receiptOfAUserWithoutAPushIsIgnored(on backend: Backend) async throws {
    let world = try await TestStore(on: backend, partitions: 1, users: 0..<8)
    let campaign = try await world.activate("a")
    // Before the seal, the slice has no recipients.
    let allUsers = (0..<9).map { ReceiptEvent(.opened, campaign: "a", user: "u\($0)") }
    try await world.store.results.apply(allUsers)
    let ledger = try await world.claimed("a").ledger
    expect(try await world.expand(ledger, campaign), is: 8)
    try await ledger.commit(credit: 7)
    // Redis withheld the push of the seventh target from its user, and no outcome is recorded yet.
    try await world.command("SETRANGE", world.keys.ledger(0, "a"), 6 * LedgerRecord.size + 5, "@")
    let outcomes: [LedgerRecord.State] = [
      .terminal(.accepted), .terminal(.unknown), .terminal(.unregistered), .terminal(.expired), .terminal(.capped),
    ]
    try await ledger.commit(
      Dictionary(uniqueKeysWithValues: outcomes.enumerated().map { ($0, LedgerRecord(state: $1)) }))
    // A user who registers now is not a recipient. The sixth user got the push without an answer, and the others wait.
    try await world.registerUsers(8..<9)
    let chunk = try await ledger.targets(from: 0, count: 8)
    let reached = [0, 1, 5].map { String(decoding: chunk.user($0), as: UTF8.self) }
    for _ in 0..<2 {
      try await world.store.results.apply(allUsers)
      let opened = try await world.command("SMEMBERS", world.keys.receipts(0, .opened, "a")).compactMap(\.string)
      expect(Set(opened) == Set(reached) && opened.count == 3)
      // Redis ignores an index of another list of targets.
      try await world.command("SET", world.keys.recipients(0, "a"), "another")
    }
    // The users of raw tokens are unknown.
    _ = try await world.sealed("b", count: 3)
    try await world.store.results.apply([ReceiptEvent(.opened, campaign: "b", user: "u0")])
    expect(try await world.command("EXISTS", world.keys.receipts(0, .opened, "b")).integer, is: 0)
  }

  @Test(arguments: Backend.allCases)
  func exactlyTheRecipientsOfALargeSliceAreFound(on backend: Backend) async throws {
    let world = try await TestStore(on: backend, partitions: 1)
    // There is more than one page, users have several devices, and one user has more entries than one read returns.
    try await world.store.registry.register(
      (0..<5000).map { DeviceRegistration(user: "u\($0 < 90 ? 0 : $0 % 4400)", device: TestStore.device($0)) })
    let (ledger, chunk) = try await world.expandAll("a")
    // The last device of each user accepted the push.
    var last: [String: Int] = [:]
    for position in 0..<chunk.count { last[String(decoding: chunk.user(position), as: UTF8.self)] = position }
    for start in stride(from: 0, to: chunk.count, by: 500) {
      let records = (start..<min(start + 500, chunk.count)).map { position in
        let isLast = last[String(decoding: chunk.user(position), as: UTF8.self)] == position
        return (position, LedgerRecord(state: .terminal(isLast ? .accepted : .unregistered)))
      }
      try await ledger.commit(Dictionary(uniqueKeysWithValues: records))
    }
    let strangers = (0..<5000).map { "stranger\($0)" }
    for users in [strangers, last.keys.sorted()] {
      for start in stride(from: 0, to: users.count, by: 1000) {
        try await world.store.results.apply(
          users[start..<min(start + 1000, users.count)].map { ReceiptEvent(.opened, campaign: "a", user: $0) })
      }
    }
    expect(try await world.command("SCARD", world.keys.receipts(0, .opened, "a")).integer, is: last.count)
  }

  /// A later campaign under the same id has its own stages and variants.
  @Test func campaignWithAnIdOfAnEarlierOneHasItsOwnRules() async throws {
    let world = try await TestStore(on: .single, partitions: 1)
    func stage(of user: String) async throws -> [String] {
      try await world.store.results.rules(of: ["a"])["a"]?.parts(of: user).map { "\($0)" } ?? []
    }
    try await world.activate("a", #","stages":[{"users":["u1"]}]"#)
    expect(try await stage(of: "u1"), is: ["1"])
    expect(try await stage(of: "u2"), is: ["rest"])
    try await world.command(
      "HSET", world.keys.campaign("a"), "createdAt", 1, "job",
      TestStore.job("a", audience: #"{"segment":"*"}"#, #","stages":[{"users":["u2"]}]"#))
    expect(try await stage(of: "u1"), is: ["rest"])
    expect(try await stage(of: "u2"), is: ["1"])
  }

  @Test func cacheOfRulesIsBounded() {
    let cache = ReceiptRuleCache()
    for number in 0...ReceiptRuleCache.most {
      cache.add(ReceiptRules(nil, variants: nil), of: "c\(number)", createdAt: number)
    }
    expect(cache.rules(of: "c0", createdAt: 0) == nil)
    let last = ReceiptRuleCache.most
    expect(cache.rules(of: "c\(last)", createdAt: last) != nil)
    expect(cache.rules(of: "c\(last)", createdAt: 0) == nil)
  }

  @Test func receiptsAreReadOrRejectedWithAReason() throws {
    func receipt(_ text: String) throws -> ReceiptEvent {
      try ReceiptEvent(parsing: Array(text.utf8), now: 1_800_000_000_000)
    }
    expect(
      try receipt(#"{"event":"opened","campaign":"a","user":"ada","at":1700000000000}"#),
      is: ReceiptEvent(.opened, campaign: "a", user: "ada"))
    for (text, says) in [
      ("{}", "event: is missing"), (#"{"event":"clicked","campaign":"a","user":"b"}"#, "not one of delivered"),
      (#"{"event":"opened","user":"b"}"#, "campaign: is missing"),
      (#"{"event":"opened","campaign":"a b","user":"b"}"#, "campaign: 'a b'"),
      (#"{"event":"opened","campaign":"a"}"#, "user: is missing"),
      (#"{"event":"opened","campaign":"a","user":"b","variant":1}"#, "'variant': unknown field in this event"),
    ] {
      let error = #expect(throws: DeviceRowDraft.Problem.self) { try receipt(text) }
      expect(error?.description.contains(says), is: true, "\(text): \(error?.description ?? "")")
    }
  }
}
