import PushCore
import Redis

/// A repartition in progress: it moves the data of a store to partitions whose number is different.
struct RepartitionMove {
  /// Approximate number of entries in a page of a hash, a set or the list of campaigns.
  static let page = 200
  /// A limit above the number of devices of any user, so that a move evicts no device.
  static let devicesPerUser = 1_000_000

  /// The store with its present number of partitions.
  let here: CampaignStore
  /// The store with its future number of partitions.
  let destination: CampaignStore
  var tally = RepartitionTally()

  var keys: Keyspace { here.keys }

  init(here: CampaignStore, destination: CampaignStore) {
    self.here = here
    self.destination = destination
  }

  func newPartition(ofUser bytes: [UInt8]) -> Int { Partition.of(user: bytes, count: destination.keys.partitions) }

  /// Completes unfinished registrations and delivers the outboxes, in the present partitions.
  func completePending(_ partitions: Range<Int>) async throws {
    _ = try await here.results.deliverFeedback(from: partitions)
    for partition in partitions { while try await here.registry.redoMoves(in: partition) > 0 {} }
  }

  /// Copies the times of removals and erasures of a partition to every partition that may get their users and tokens.
  /// These records have only digests of users and tokens, so their new partition is unknown. Unneeded copies expire
  /// like the others.
  mutating func marks(of partition: Int) async throws {
    let step = Self.greatestCommonDivisor(keys.partitions, destination.keys.partitions)
    let homes = stride(from: partition % step, to: destination.keys.partitions, by: step).filter { $0 != partition }
    for key in [Keyspace.removals, Keyspace.erased] {
      try await forEachPage("ZSCAN", key(keys)(partition)) { move, reply in
        try await move.enter(Self.pairs(reply), homes.map { key(move.keys)($0) })
      }
    }
  }

  /// Adds members to other sorted sets. If a set already has a member, the later time wins.
  func enter(_ pairs: [(token: [UInt8], text: [UInt8])], _ homes: [String]) async throws {
    guard !pairs.isEmpty, !homes.isEmpty else { return }
    var pipeline = RedisPipeline()
    for home in homes {
      pipeline.command("ZADD") {
        $0.append(home)
        $0.append("GT")
        for (member, score) in pairs {
          $0.append(score)
          $0.append(member)
        }
      }
    }
    _ = try await here.run(pipeline)
  }

  private static func greatestCommonDivisor(_ one: Int, _ other: Int) -> Int {
    other == 0 ? one : greatestCommonDivisor(other, one % other)
  }

  /// Reads a whole hash or set and calls `body` with each page.
  mutating func forEachPage(
    _ command: StaticString, _ key: String, _ body: (inout RepartitionMove, RedisReply) async throws -> Void
  ) async throws {
    // A copy, because `body` changes this value.
    let here = here
    try await here.forEachPage { cursor, pipeline in
      pipeline.append(command, key, cursor, "COUNT", Self.page)
    } _: { page in
      try await body(&self, page)
      return true
    }
  }

  static func pairs(_ reply: RedisReply) -> [(token: [UInt8], text: [UInt8])] {
    stride(from: 0, to: reply.count - 1, by: 2).map {
      (reply[$0].bytes.map(Array.init) ?? [], reply[$0 + 1].bytes.map(Array.init) ?? [])
    }
  }
}
