import Dispatch
import EventLoop

/// Monitor that reads the slot map of a cluster from its servers. All clients of the process share one monitor for each
/// cluster.
///
/// ``ClusterTopology`` decides; this actor executes its actions.
actor ClusterMonitor {
  private struct Key: Hashable {
    var url: RedisURL
    var passwordFile: String?
    var tls: RedisTLS
    var options: ClusterOptions
  }

  private static let monitors = SharedMonitors<Key, ClusterMonitor>()

  /// Returns the monitor of a cluster.
  static func shared(_ url: RedisURL, options: RedisOptions) -> ClusterMonitor {
    monitors.monitor(Key(url: url, passwordFile: options.passwordFile, tls: options.tls, options: options.cluster)) {
      ClusterMonitor(url: url, options: options)
    }
  }

  private let loop = EventLoop(label: "cluster")
  private let url: RedisURL
  private let options: RedisOptions
  private var topology: ClusterTopology
  private var timer: LoopTimer?
  private var audience = WatchAudience<ClusterMap>()

  nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }

  private init(url: RedisURL, options: RedisOptions) {
    self.url = url
    self.options = options
    topology = ClusterTopology(seeds: url.addresses, turn: Int.random(in: 0..<KeySlot.count))
  }

  /// Returns the present map. If there is none yet, waits for the first one.
  func map() async throws(RedisError) -> ClusterMap {
    if let map = topology.map { return map }
    return try await next(.wanted)
  }

  /// Returns a new map, which is read from another server than the given one.
  ///
  /// - Parameter address: a server that gave no answer, or does not have the slots that the map names.
  func map(doubting address: RedisAddress) async throws(RedisError) -> ClusterMap {
    try await next(.suspected(address))
  }

  private func next(_ event: ClusterTopology.Event) async throws(RedisError) -> ClusterMap {
    let result: Result<ClusterMap, RedisError> = await withCheckedContinuation { continuation in
      audience.add(waiter: continuation)
      handle(event)
    }
    return try result.get()
  }

  /// Records that a server gave no answer, or refused a command for a slot that it has according to the map.
  func doubt(_ address: RedisAddress) { handle(.suspected(address)) }

  /// Records the owner of a slot that a server reported in a redirection.
  func record(_ slot: KeySlot, at address: RedisAddress) { handle(.moved(slot, address)) }

  /// Calls `listener` with each new map until ``remove(_:)``.
  func add(_ listener: @escaping @Sendable (ClusterMap) -> Void) -> UInt64 { audience.add(listener) }

  /// Removes a listener. If no listener is left, the monitor asks no server until a caller needs a map.
  func remove(_ listener: UInt64) {
    audience.remove(listener)
    if audience.isEmpty { timer?.disarm() }
  }

  private func handle(_ event: ClusterTopology.Event) {
    for action in topology.handle(event) {
      switch action {
      case .ask(let server): Task { [weak self] in await self?.ask(server) }
      case .found(let map): audience.succeed(map)
      case .notFound:
        audience.fail("no server has answered", prefix: "no server of the cluster has returned the slot map")
      case .pause: wait(options.cluster.pause)
      case .rest: if !audience.isEmpty { wait(options.cluster.refreshInterval) }
      }
    }
  }

  private func wait(_ time: Duration) {
    let timer = timer ?? LoopTimer(on: loop) { [weak self] in self?.assumeIsolated { $0.handle(.timer) } }
    self.timer = timer
    timer.schedule(after: .nanoseconds(Int(clamping: time.wholeNanoseconds)))
  }

  private func ask(_ server: RedisAddress) async {
    do throws(RedisError) {
      handle(.answered(try await map(of: server)))
    } catch {
      audience.record(error)
      handle(.failed)
    }
  }

  /// Returns the map of one server. The function opens a separate connection, so that only servers that accept
  /// connections can answer.
  private func map(of server: RedisAddress) async throws(RedisError) -> ClusterMap {
    var settings = options
    settings.clientName += " asking"
    settings.connectTimeout = options.cluster.timeout
    settings.answerTimeout = options.cluster.timeout
    let connection = try await RedisConnection.connect(to: url.at(server), options: settings, on: loop)
    var pipeline = RedisPipeline()
    pipeline.append("CLUSTER", "SLOTS")
    let reply: RedisReply
    do throws(RedisError) {
      reply = try await connection.execute(pipeline)[0]
    } catch {
      await connection.close()
      throw error
    }
    await connection.close()
    if let error = reply.error {
      guard error.code == .generic else {
        throw Handshake.refusal(error, step: "CLUSTER SLOTS", endpoint: "\(server)")
      }
      throw RedisError(
        .refused, "this server is not in a cluster: \(error)", endpoint: "\(server)",
        hint: "Write redis:// for a single server, or the addresses of servers with cluster-enabled yes.")
    }
    let map = ClusterMap(parsing: reply, from: server, reachable: options.cluster.addresses)
    guard let map, !map.primaries.isEmpty else {
      throw RedisError(
        .notReady, "the server knows of no slots: \(reply)", endpoint: "\(server)",
        hint:
          "Check that the server has joined the cluster (CLUSTER MEET) and that all slots are assigned (CLUSTER INFO).")
    }
    return map
  }
}
