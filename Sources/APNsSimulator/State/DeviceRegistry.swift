internal import Synchronization

/// All loaded device tokens, shared by all event loops.
final class DeviceRegistry: Sendable {
  /// A topic's number. Equal topics have equal numbers.
  typealias TopicID = UInt16

  private final class Shard: Sendable {
    let table = Mutex(TokenTable())
  }

  private struct Topics {
    var numbers: [[UInt8]: TopicID] = [:]
  }

  /// The number that represents any topic.
  static let anyTopic: TopicID = 0
  /// The common number of all further topics when the table is full.
  private static let overflow = TopicID.max
  /// Maximum number of topics. An app has about a dozen topics. The bound limits the memory if a sender uses random
  /// topics.
  private static let maximumTopics = 10_000
  /// Many more shards than threads, so that two threads seldom need the same lock; a power of two.
  private static let shardCount = 64

  private let shards = (0..<shardCount).map { _ in Shard() }
  private let topics = Mutex(Topics())

  /// Number of known tokens.
  var count: Int { shards.reduce(0) { $0 + $1.table.withLock { $0.count } } }

  /// Returns the number of `topic` and assigns one to a new topic.
  func topicID(_ topic: [UInt8]) -> TopicID {
    topics.withLock { topics in
      if let number = topics.numbers[topic] { return number }
      guard topics.numbers.count < Self.maximumTopics else { return Self.overflow }
      let number = TopicID(topics.numbers.count + 1)
      topics.numbers[topic] = number
      return number
    }
  }

  /// Adds or changes a token of 1 to 255 bytes.
  func set(_ token: UnsafeRawBufferPointer, _ record: TokenTable.Record) {
    let hash = ByteHash.hash(token)
    shard(hash).table.withLock { $0.set(token, hash: hash, record) }
  }

  /// Sets whether a device is offline and keeps its other values. An unknown token is registered for any topic.
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

  /// Returns the record of `token`.
  func find(_ token: UnsafeRawBufferPointer) -> TokenTable.Record? {
    let hash = ByteHash.hash(token)
    return shard(hash).table.withLock { $0.find(token, hash: hash) }
  }

  /// Removes every token.
  func removeAll() {
    for shard in shards { shard.table.withLock { $0 = TokenTable() } }
  }

  // The lowest bits of the hash select the slot within a table, so other bits select the table.
  private func shard(_ hash: UInt64) -> Shard { shards[Int(hash >> 26) & (Self.shardCount - 1)] }
}
