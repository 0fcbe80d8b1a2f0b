internal import Synchronization

/// Every device token the simulator was told of, shared by all event loops.
final class DeviceRegistry: Sendable {
  /// A topic's number; equal topics have equal numbers.
  typealias TopicID = UInt16

  private final class Shard: Sendable {
    let table = Mutex(TokenTable())
  }

  private struct Topics {
    var numbers: [[UInt8]: TopicID] = [:]
  }

  /// Any topic will do.
  static let anyTopic: TopicID = 0
  /// What topics get when the table is full: none is registered for it.
  private static let overflow = TopicID.max
  /// An app has a dozen topics; the bound keeps a sender of random topics from filling memory.
  private static let mostTopics = 10_000
  /// Many more than threads, so that two seldom want the same lock; a power of two.
  private static let shardCount = 64

  private let shards = (0..<shardCount).map { _ in Shard() }
  private let topics = Mutex(Topics())

  /// How many tokens are known.
  var count: Int { shards.reduce(0) { $0 + $1.table.withLock { $0.count } } }

  /// The number of `topic`, given out on first sight.
  func topicID(_ topic: [UInt8]) -> TopicID {
    topics.withLock { topics in
      if let number = topics.numbers[topic] { return number }
      guard topics.numbers.count < Self.mostTopics else { return Self.overflow }
      let number = TopicID(topics.numbers.count + 1)
      topics.numbers[topic] = number
      return number
    }
  }

  /// Adds a token, of 1 to 255 bytes, or changes what is known of it.
  func set(_ token: UnsafeRawBufferPointer, _ record: TokenTable.Record) {
    let hash = ByteHash.hash(token)
    shard(hash).table.withLock { $0.set(token, hash: hash, record) }
  }

  /// Says whether a device can be reached, and leaves what else is known of it; an unknown one is registered for any
  /// topic from then on.
  func set(_ token: UnsafeRawBufferPointer, isAway: Bool) {
    let hash = ByteHash.hash(token)
    shard(hash).table.withLock { table in
      var record =
        table.find(token, hash: hash)
        ?? TokenTable.Record(state: .registered, topic: Self.anyTopic, timestamp: 0)
      record.isAway = isAway
      table.set(token, hash: hash, record)
    }
  }

  /// What is known of `token`.
  func find(_ token: UnsafeRawBufferPointer) -> TokenTable.Record? {
    let hash = ByteHash.hash(token)
    return shard(hash).table.withLock { $0.find(token, hash: hash) }
  }

  /// Forgets every token.
  func removeAll() {
    for shard in shards { shard.table.withLock { $0 = TokenTable() } }
  }

  // The lowest bits choose the slot within a table, these the table.
  private func shard(_ hash: UInt64) -> Shard { shards[Int(hash >> 26) & (Self.shardCount - 1)] }
}
