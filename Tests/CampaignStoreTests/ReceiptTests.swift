@testable import CampaignStore
import PushCore
import Redis
import Testing

/// What users did with pushes, by the word of the app.
struct ReceiptTests {
  @Test(arguments: Backend.allCases)
  func usersCountOnceForEachThingAndTheirReceiptsGoWithTheResults(on backend: Backend) async throws {
    let world = try await TestStore(on: backend)
    try await world.registerUsers(0..<700)
    let campaign = try await world.activate("a", #","ttl":"1h""#)
    func note(_ kind: ReceiptEvent.Kind, _ users: Range<Int>, of id: String = "a") async throws {
      try await world.store.apply(users.map { ReceiptEvent(kind, campaign: id, user: "u\($0)") })
    }
    func receipts() async throws -> [ReceiptEvent.Kind: Int] {
      try await world.store.receipts(of: #require(try await world.store.campaign("a")))
    }
    // Some come while it is being sent, some twice, and some of a campaign that nobody knows.
    while let slice = try await world.store.dequeueSlice(worker: "w") {
      try await world.end(slice, of: campaign)
      try await note(.delivered, 0..<600)
    }
    try await note(.opened, 0..<100)
    try await note(.opened, 50..<150)
    try await note(.opened, 0..<10, of: "unknown")
    #expect(try await receipts() == [.delivered: 600, .opened: 150, .dismissed: 0])
    // After its end they expire with it, those that come later too.
    try await world.store.expire("a")
    try await note(.dismissed, 0..<20)
    #expect(try await receipts() == [.delivered: 600, .opened: 150, .dismissed: 20])
    let own = try await world.keyNames("{\(world.keys.namespace):*:a").filter { $0.contains("ed:a") }
    #expect(own.count >= 3)
    for key in own { #expect(try #require(try await world.command("TTL", key).integer) > 0, "\(key)") }
    #expect(try await world.keyNames("*\(world.keys.namespace)*unknown").isEmpty)
  }

  @Test func receiptsAreReadAndWhatIsWrongIsSaid() throws {
    func receipt(_ text: String) throws -> ReceiptEvent { try ReceiptEvent(parsing: Array(text.utf8)) }
    #expect(
      try receipt(#"{"event":"opened","campaign":"a","user":"ada","at":1700000000000}"#)
        == ReceiptEvent(.opened, campaign: "a", user: "ada"))
    for (text, says) in [
      ("{}", "event: is missing"), (#"{"event":"clicked","campaign":"a","user":"b"}"#, "none of delivered"),
      (#"{"event":"opened","user":"b"}"#, "campaign: is missing"),
      (#"{"event":"opened","campaign":"a b","user":"b"}"#, "campaign: 'a b'"),
      (#"{"event":"opened","campaign":"a"}"#, "user: is missing"),
      (#"{"event":"opened","campaign":"a","user":"b","variant":1}"#, "'variant': there is no such field in this event"),
    ] {
      let error = #expect(throws: DeviceRowDraft.Problem.self) { try receipt(text) }
      #expect(error?.description.contains(says) == true, "\(text): \(error?.description ?? "")")
    }
  }
}
