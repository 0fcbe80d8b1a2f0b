import Synchronization

/// What this process has asked of each Redis server. A connection counts round trips, never what is in them, with two
/// additions that wait for nobody.
public enum RedisTraffic {
  /// What was asked of one server.
  public struct Total: Sendable, Equatable {
    /// `host:port`.
    public var node: String
    /// Pipelines that were sent.
    public var roundTrips: Int
    /// Commands in them.
    public var commands: Int
  }

  /// Of one server, shared by all connections to it.
  final class Counter: Sendable {
    private let roundTrips = Atomic<Int>(0)
    private let commands = Atomic<Int>(0)

    func note(commands count: Int) {
      roundTrips.add(1, ordering: .relaxed)
      commands.add(count, ordering: .relaxed)
    }

    func total(of node: String) -> Total {
      Total(node: node, roundTrips: roundTrips.load(ordering: .relaxed), commands: commands.load(ordering: .relaxed))
    }
  }

  /// Servers that are told apart at most: a cluster has fewer, and addresses that come and go must not gather for ever.
  private static let limit = 256
  private static let counters = Mutex<[String: Counter]>([:])

  /// What was asked since the process began, by server.
  public static var totals: [Total] {
    counters.withLock { $0.map { $1.total(of: $0) } }.sorted { $0.node < $1.node }
  }

  static func counter(of node: String) -> Counter {
    counters.withLock { counters in
      let node = counters.count < limit || counters[node] != nil ? node : "other"
      let counter = counters[node] ?? Counter()
      counters[node] = counter
      return counter
    }
  }
}
