import Dispatch
import EventLoop
import Synchronization

/// Watch that reads the slot map of a cluster. All clients of the process share one watch for each cluster.
///
/// ``ClusterTopology`` decides; this actor executes its actions.
actor ClusterWatch {
  private struct Key: Hashable {
    var url: RedisURL
    var passwordFile: String?
    var tls: RedisTLS
    var options: ClusterOptions
  }

  private struct Entry {
    weak var watch: ClusterWatch?
  }

  private static let watches = Mutex<[Key: Entry]>([:])

  /// Returns the watch of this cluster. It lives as long as there is a reference to it.
  static func shared(_ url: RedisURL, options: RedisOptions) -> ClusterWatch {
    watches.withLock { watches in
      watches = watches.filter { $0.value.watch != nil }
      let key = Key(url: url, passwordFile: options.passwordFile, tls: options.tls, options: options.cluster)
      if let watch = watches[key]?.watch { return watch }
      let watch = ClusterWatch(url: url, options: options)
      watches[key] = Entry(watch: watch)
      return watch
    }
  }

  private typealias Waiter = CheckedContinuation<Result<ClusterMap, RedisError>, Never>

  private let loop = EventLoop(label: "cluster")
  private let url: RedisURL
  private let options: RedisOptions
  private var topology: ClusterTopology
  private var timer: LoopTimer?
  private var waiters: [Waiter] = []
  private var listeners: [UInt64: @Sendable (ClusterMap) -> Void] = [:]
  private var nextID: UInt64 = 0
  private var lastError: RedisError?

  nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }

  private init(url: RedisURL, options: RedisOptions) {
    self.url = url
    self.options = options
    topology = ClusterTopology(seeds: url.addresses, turn: Int.random(in: 0..<KeySlot.count))
  }

  /// Returns the present map, or the first one.
  func map() async throws(RedisError) -> ClusterMap {
    if let map = topology.map { return map }
    return try await next(.wanted)
  }

  /// Returns the next map, which is read from another server than the given one.
  ///
  /// - Parameter address: a server that gave no answer, or does not have the slots that the map names.
  func map(doubting address: RedisAddress) async throws(RedisError) -> ClusterMap {
    try await next(.doubted(address))
  }

  private func next(_ event: ClusterTopology.Event) async throws(RedisError) -> ClusterMap {
    let result: Result<ClusterMap, RedisError> = await withCheckedContinuation { continuation in
      waiters.append(continuation)
      handle(event)
    }
    return try result.get()
  }

  /// Records that a server gave no answer, or a refusal that contradicts the map.
  func doubt(_ address: RedisAddress) { handle(.doubted(address)) }

  /// Records the owner of a slot that a server reported in a redirection.
  func note(_ slot: KeySlot, at address: RedisAddress) { handle(.moved(slot, address)) }

  /// Calls `listener` with each new map until ``remove(_:)``.
  func add(_ listener: @escaping @Sendable (ClusterMap) -> Void) -> UInt64 {
    defer { nextID += 1 }
    listeners[nextID] = listener
    return nextID
  }

  /// Removes a listener. Without a listener, no server is asked until a caller needs a map.
  func remove(_ listener: UInt64) {
    listeners[listener] = nil
    if listeners.isEmpty { timer?.disarm() }
  }

  private func handle(_ event: ClusterTopology.Event) {
    for action in topology.handle(event) {
      switch action {
      case .ask(let server): Task { [weak self] in await self?.ask(server) }
      case .found(let map):
        lastError = nil
        for waiter in takeWaiters() { waiter.resume(returning: .success(map)) }
        for listener in listeners.values { listener(map) }
      case .notFound:
        for waiter in takeWaiters() { waiter.resume(returning: .failure(notFound)) }
        lastError = nil
      case .pause: wait(options.cluster.pause)
      case .rest: if !listeners.isEmpty { wait(options.cluster.refreshInterval) }
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
      // A temporary error takes precedence over a permanent one. Only if all servers are misconfigured is waiting
      // useless.
      if lastError?.isPermanent ?? true { lastError = error }
      handle(.failed)
    }
  }

  /// Returns one server's map, read over a separate connection. So only a server that accepts connections can answer.
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
        .refused, "it is no server of a cluster: \(error)", endpoint: "\(server)",
        hint: "Write redis:// for a single server, or name servers that run with cluster-enabled yes.")
    }
    let map = ClusterMap(parsing: reply, from: server, reachable: options.cluster.addresses)
    guard let map, !map.primaries.isEmpty else {
      throw RedisError(
        .notReady, "the server knows of no slots: \(reply)", endpoint: "\(server)",
        hint: "Has it joined the cluster (CLUSTER MEET), and have the slots been given out (CLUSTER INFO)?")
    }
    return map
  }

  private func takeWaiters() -> [Waiter] {
    defer { waiters = [] }
    return waiters
  }

  private var notFound: RedisError {
    var error = lastError ?? RedisError(.notReady, "no server has answered", hint: Hint.address)
    error.message = "no server of the cluster tells who has which slots: \(error.message)"
    error.mayHaveExecuted = false
    return error
  }
}
