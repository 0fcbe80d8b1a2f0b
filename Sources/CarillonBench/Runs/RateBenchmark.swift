import PushTransport
import APNs
import EventLoop
import PushCore
import Synchronization

/// Sends for some time at the highest rate of one connection, either with the limit that ``CongestionWindow`` finds or
/// with a fixed limit. `carillon-bench limits` compares the two.
enum RateBenchmark {
  /// The measured values after the warm-up.
  struct Result: Sendable {
    /// Accepted pushes per second.
    var perSecond = 0.0
    /// Average number of pushes in flight on the connection.
    var inFlight = 0.0
    /// The last error. Pushes without an answer are not errors of the benchmark.
    var lastError: String?
  }

  /// Number of pushes in one batch, and minimum number of pushes that wait for the connection.
  private static let batchSize = 500
  private static let ahead = 1000
  /// Interval in milliseconds between checks of the time and of the number of pushes in flight.
  private static let interval = 20

  /// - Parameters:
  ///   - configuration: endpoint and settings of the pool; one connection by default.
  ///   - streams: a fixed limit; `nil` for the adaptive one.
  ///   - credential: the credential for APNs.
  ///   - request: request of every push.
  ///   - payload: payload of every push.
  ///   - warmUp: seconds before the measurement.
  ///   - seconds: seconds of the measurement.
  static func run(
    _ configuration: ConnectionPool.Configuration, streams: Int?, credential: any PushCredential, request: PushRequest,
    payload: [UInt8], warmUp: Double, seconds: Double
  ) async -> Result {
    var configuration = configuration
    configuration.fixedStreams = streams
    let accepted = Atomic(0)
    let ended = Atomic(0)
    let (news, continuation) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
    let pool = ConnectionPool(configuration: configuration, credential: credential) { completions in
      accepted.add(completions.count { $0.kind == .answered && $0.status == 200 }, ordering: .relaxed)
      ended.add(completions.count, ordering: .relaxed)
      continuation.yield()
    }
    let timer = Task {
      while !Task.isCancelled {
        try await Task.sleep(for: .milliseconds(interval))
        continuation.yield()
      }
    }
    let ids = PushID(campaign: "bench")
    var submitted = 0
    var inFlight = (sum: 0, count: 0)
    let begin = EventLoop.now + UInt64(warmUp * 1e9)
    var before: (at: UInt64, accepted: Int)?
    var result = Result()
    func submit() {
      while submitted - ended.load(ordering: .relaxed) < configuration.maximumStreams + ahead {
        pool.submit(batch(from: submitted, request, payload, ids), lane: 0)
        submitted += batchSize
      }
    }
    submit()
    for await _ in news {
      submit()
      let now = EventLoop.now
      guard now >= begin else { continue }
      guard let before else {
        before = (now, accepted.load(ordering: .relaxed))
        continue
      }
      inFlight.sum += pool.published.inFlight
      inFlight.count += 1
      if Double(now - before.at) < seconds * 1e9 { continue }
      result.perSecond = Double(accepted.load(ordering: .relaxed) - before.accepted) * 1e9 / Double(now - before.at)
      break
    }
    timer.cancel()
    _ = await pool.drain(deadline: 0)
    result.inFlight = Double(inFlight.sum) / Double(max(inFlight.count, 1))
    result.lastError = pool.published.lastError
    return result
  }

  /// Returns pushes to distinct tokens.
  private static func batch(
    from first: Int, _ request: PushRequest, _ payload: [UInt8], _ ids: PushID
  ) -> PushBatch {
    var batch = PushBatch(request: request, payload: payload, capacity: batchSize)
    for index in first..<first + batchSize {
      let token = (0..<32).map { UInt8(truncatingIfNeeded: index >> (8 * ($0 % 8))) ^ UInt8($0) }
      batch.append(tag: UInt64(index), id: ids.id(token: token), token: token[...])
    }
    return batch
  }
}
