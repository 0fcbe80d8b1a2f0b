import APNsSimulator
import PushCore
import Synchronization
import TLS
import TestSupport

@testable import APNs
@testable import PushTransport

/// A simulator, a pool that sends to it, and every completion in order.
///
/// A test creates it and ends it with ``stop()``. Tests wait for completions, never for the clock.
final class PoolHarness: Sendable {
  static let keyID = "ABC123DEFG"
  static let teamID = "DEF123GHIJ"
  static let topic = "com.example.news"

  let simulator: Simulator
  let key: ECPrivateKey
  let credential: ProviderTokenSource
  let pool: ConnectionPool
  let completions: Completions
  private let folder: ScratchFolder

  /// Limits that open connections as fast as answers allow, so that tests wait only for the network.
  static let hasty = ReconnectBudget.Limits(
    spacing: 1_000_000, firstBackoff: 1_000_000, longestBackoff: 20_000_000, burst: 1000, refill: 1_000_000)

  /// - Parameters:
  ///   - engine: the transport engine. Each test chooses it explicitly.
  ///   - host: the address of the simulator, IPv4 or IPv6.
  ///   - policy: the connection policy of another service than APNs. The simulator then allows all streams immediately.
  ///   - makeEngine: creates the engine instead of the usual way.
  init(
    engine: PushEngineKind, host: String = "127.0.0.1", connections: Int = 1, streams: Int = 1000,
    requestTimeout: UInt64 = 30_000_000_000,
    connectTimeout: UInt64 = 10_000_000_000, idleLimit: UInt64 = 3_600_000_000_000,
    reconnect: ReconnectBudget.Limits = hasty, breaker: CircuitBreaker.Limits = .init(),
    knobs: SimulatorKnobs = .init(), policy: ConnectionPolicy? = nil,
    measureOffset: ProviderTokenSource.MeasureOffset? = nil,
    makeEngine: ((Int, ConnectionPool.Configuration, any PushSupply) -> any PushEngine)? = nil
  ) async throws {
    key = try ECPrivateKey.generate()
    var simulated = SimulatorConfiguration()
    simulated.keys = [.init(keyID: Self.keyID, teamID: Self.teamID, pem: key.publicPEM)]
    simulated.knobs = knobs
    simulated.host = host
    if policy?.start == .fullWindow { simulated.initialStreams = simulated.fullStreams }
    simulator = try await Simulator.start(simulated)
    folder = try ScratchFolder()
    credential = try ProviderTokenSource(
      keyID: Self.keyID, teamID: Self.teamID, key: key, measureOffset: measureOffset)
    let completions = Completions()
    self.completions = completions
    let roots = try folder.write("ca.pem", simulator.authorityPEM ?? "")
    var configuration = ConnectionPool.Configuration(
      endpoint: PushEndpoint(
        url: "https://\(host.contains(":") ? "[\(host)]" : host):\(simulator.port)", trustRoots: roots),
      service: APNsService(), connections: connections,
      maximumStreams: streams, requestTimeout: requestTimeout, connectTimeout: connectTimeout, idleLimit: idleLimit,
      reconnect: reconnect, breaker: breaker, engine: engine)
    if let policy { configuration.policy = policy }
    if let makeEngine {
      pool = ConnectionPool(
        configuration: configuration, credential: credential, onCompletions: { completions.add($0) },
        makeEngine: { [configuration] in makeEngine($0, configuration, $1) })
    } else {
      pool = ConnectionPool(
        configuration: configuration, credential: credential, onCompletions: { completions.add($0) })
    }
  }

  /// Stops the pool and the simulator.
  func stop() async {
    _ = await pool.drain(deadline: 0)
    await simulator.stop()
  }

  /// Returns the token of push `tag`: 32 bytes.
  static func token(_ tag: UInt64) -> [UInt8] {
    (0..<32).map { UInt8(truncatingIfNeeded: tag >> (8 * ($0 % 8))) ^ UInt8($0) }
  }

  /// Returns a batch of pushes with these tags, all of one campaign.
  static func batch(
    _ tags: some Sequence<UInt64>, topic: String = PoolHarness.topic, isUnproven: Bool = false
  ) -> PushBatch {
    var batch = PushBatch(
      request: PushHeaders(topic: topic, pushType: .alert, priority: 10).request, isUnproven: isUnproven)
    batch.bytes = Array(#"{"aps":{"alert":"hello"}}"#.utf8)
    let payload = 0..<Int32(batch.bytes.count)
    let ids = PushID(campaign: "test")
    for tag in tags {
      let token = token(tag)
      let start = Int32(batch.bytes.count)
      batch.bytes += token
      batch.pushes.append(
        Push(
          tag: tag, id: ids.id(token: token), token: start..<Int32(batch.bytes.count), payload: payload))
    }
    return batch
  }
}

/// Collects completions, and lets one test wait for them.
final class Completions: Sendable {
  private let stream: AsyncStream<[PushCompletion]>
  private let continuation: AsyncStream<[PushCompletion]>.Continuation
  private let unread = Mutex<[PushCompletion]>([])

  init() { (stream, continuation) = AsyncStream.makeStream() }

  func add(_ completions: [PushCompletion]) { continuation.yield(completions) }

  /// Returns the next `count` completions, in the order of delivery.
  func next(_ count: Int) async -> [PushCompletion] {
    var iterator = stream.makeAsyncIterator()
    while unread.withLock({ $0.count }) < count, let more = await iterator.next() {
      unread.withLock { $0 += more }
    }
    return unread.withLock { unread in
      let taken = Array(unread.prefix(count))
      unread.removeFirst(taken.count)
      return taken
    }
  }

  /// Returns the completion of the only push in flight.
  func one() async throws -> PushCompletion { try await next(1).first.orThrow() }
}

extension Optional {
  struct Missing: Error {}
  func orThrow() throws -> Wrapped {
    guard let self else { throw Missing() }
    return self
  }
}
