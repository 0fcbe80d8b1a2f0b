internal import Synchronization

/// Counts the requests with each `apns-id`. The counts prove or disprove duplicates. Shared by all event loops.
final class DeliveryLog: Sendable {
  /// Sums over all identifiers.
  struct Summary: Equatable, Sendable {
    /// Requests whose identifier had arrived before, with any answer.
    var received = 0
    /// Accepted pushes whose identifier was accepted before: notifications that a user would see again.
    var accepted = 0
    /// Identifiers that arrived more than once.
    var repeatedIDs = 0
    /// The largest number of requests with the same identifier; 0 without requests.
    var maximumDeliveries = 0
  }

  private final class Shard: Sendable {
    let state = Mutex(State())
  }

  private struct State {
    var ids = MessageIDSet()
    var deliveries: [MessageID.Key: Int] = [:]
    var acceptedAgain = 0
  }

  /// Many more shards than threads, so that two threads seldom need the same lock; a power of two.
  private static let shardCount = 64
  private let shards = (0..<shardCount).map { _ in Shard() }

  /// Records that a request with this identifier was received in full, and whether the answer is 200.
  func record(_ key: MessageID.Key, accepted: Bool) {
    let hash = ByteHash.hash(key)
    shards[Int(hash >> 26) & (Self.shardCount - 1)].state.withLock { state in
      switch state.ids.insert(key, hash: hash, accepted: accepted) {
      case .new: return
      case .received: break
      case .accepted: if accepted { state.acceptedAgain += 1 }
      }
      state.deliveries[key, default: 1] += 1
    }
  }

  /// The current sums.
  var summary: Summary {
    var summary = Summary()
    for shard in shards {
      shard.state.withLock { state in
        summary.accepted += state.acceptedAgain
        summary.repeatedIDs += state.deliveries.count
        for count in state.deliveries.values {
          summary.received += count - 1
          summary.maximumDeliveries = max(summary.maximumDeliveries, count)
        }
        if state.ids.count > 0 { summary.maximumDeliveries = max(summary.maximumDeliveries, 1) }
      }
    }
    return summary
  }

  /// Removes everything.
  func removeAll() {
    for shard in shards { shard.state.withLock { $0 = State() } }
  }
}
