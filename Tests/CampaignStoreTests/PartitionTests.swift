import APNs
import CampaignStore
import PushCore
import Redis
import TestKit
import Testing

struct PartitionTests {
  @Test func partitionsAreSpreadEvenlyAndTokensGoByTheirText() throws {
    var counts = Array(repeating: 0, count: 256)
    for user in 0..<100_000 { counts[Partition.of(user: "user-\(user)", count: 256)] += 1 }
    expect(counts.allSatisfy { (250...550).contains($0) })
    let service = APNsService()
    let token = try #require(service.token("<00FF aa>"))
    expect(Partition.of(token: token.bytes, of: service, count: 16384), is: Int(CRC16.of("00ffaa")) % 16384)
    expect(Partition.of(user: Array("foo".utf8), count: 16384), is: 12182)
  }
}
