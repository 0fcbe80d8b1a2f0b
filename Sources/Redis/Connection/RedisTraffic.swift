import Synchronization

/// Statistics of this process' requests to each Redis server. For each pipeline, a connection counts the round trip and
/// the commands with two relaxed atomic additions. Contents of commands are never recorded.
public enum RedisTraffic {
  /// Requests to one server.
  public struct Total: Sendable, Equatable {
    /// `host:port`.
    public var node: String
    /// Number of pipelines that were sent.
    public var roundTrips: Int
    /// Number of commands in these pipelines.
    public var commands: Int
  }

  /// Counter of one server, shared by all connections to it.
  final class Counter: Sendable {
    private let roundTrips = Atomic<Int>(0)
    private let commands = Atomic<Int>(0)

    func count(commands count: Int) {
      roundTrips.add(1, ordering: .relaxed)
      commands.add(count, ordering: .relaxed)
    }

    func total(of node: String) -> Total {
      Total(node: node, roundTrips: roundTrips.load(ordering: .relaxed), commands: commands.load(ordering: .relaxed))
    }
  }

  /// Maximum number of servers with a separate counter. A cluster has fewer servers. The limit bounds the memory if the
  /// addresses of servers change often.
  private static let limit = 256
  private static let counters = Mutex<[String: Counter]>([:])

  /// Requests since the process began, by server.
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
