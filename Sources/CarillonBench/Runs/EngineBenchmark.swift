import PushTransport
import EventLoop
import Glibc
import PushCore
import Synchronization

/// Sends pushes to distinct tokens through one pool and measures the cost. `carillon-bench engine` prints the result.
enum EngineBenchmark {
  /// The amount of pushes.
  enum Extent: Sendable {
    /// A number of pushes, all measured.
    case pushes(Int)
    /// A number of seconds. The run takes twice this time: first to open connections and widen windows, then to
    /// measure.
    case seconds(Double)
  }

  /// The measured values.
  struct Result: Sendable {
    /// Completed pushes.
    var pushes = 0
    /// Completed pushes that the push service accepted.
    var accepted = 0
    /// Completed pushes that the push service rejected.
    var rejected = 0
    /// Completed pushes without an answer.
    var unanswered = 0
    /// Duration of the measurement in wall-clock seconds. For a number of pushes, it is the time from the first
    /// submission to the last completion.
    var seconds = 0.0
    /// CPU time of this process (user and system) per push, in microseconds.
    var cpuPerPush = 0.0
    /// Average number of pushes in flight on the connections; 0 unless the extent is a number of seconds.
    var inFlight = 0.0
    /// The last error.
    var lastError: String?
  }

  /// Number of pushes in one batch, and maximum number of batches that wait or are in flight.
  private static let batchSize = 500
  private static let batchesAhead = 8
  /// Sampling interval of the number in flight, in milliseconds. Samples at the arrival of answers would be too low.
  private static let interval = 20

  /// Sends pushes and returns after the last completion or at the end of the time.
  ///
  /// - Parameters:
  ///   - configuration: endpoint and settings of the pool; one connection by default.
  ///   - credential: the credential for the push service.
  ///   - composer: composes the pushes.
  ///   - extent: number of pushes or seconds.
  ///   - token: returns the raw device token of the n-th push, from 0.
  static func run(
    _ configuration: ConnectionPool.Configuration, credential: any PushCredential, composer: any PushComposer,
    extent: Extent, token: @escaping @Sendable (Int) -> [UInt8]
  ) async -> Result {
    let done = Mutex(Result())
    let (news, continuation) = AsyncStream.makeStream(of: Int.self)
    let pool = ConnectionPool(configuration: configuration, credential: credential) { completions in
      done.withLock { result in
        for completion in completions {
          result.pushes += 1
          switch completion.kind {
          case .answered where completion.status == 200: result.accepted += 1
          case .answered: result.rejected += 1
          case .notSent, .ambiguous: result.unanswered += 1
          }
        }
      }
      continuation.yield(completions.count)
    }
    let count = if case .pushes(let count) = extent { count } else { Int.max }
    let warmUp = if case .seconds(let seconds) = extent { UInt64(seconds * 1e9) } else { UInt64(0) }
    var began = Snapshot(Result())
    var submitted = 0
    var completed = 0
    func submitMore() {
      while submitted < count, submitted - completed <= (batchesAhead - 1) * batchSize {
        let end = submitted + min(batchSize, count - submitted)
        var batch = composer.batch(isUnproven: false, capacity: end - submitted, now: 0)
        for index in submitted..<end { _ = composer.append(token(index)[...], nil, tag: UInt64(index), to: &batch) }
        pool.submit(batch, lane: 0)
        submitted = end
      }
    }
    submitMore()
    let looks = Task {
      while warmUp > 0, !Task.isCancelled {
        try await Task.sleep(for: .milliseconds(interval))
        continuation.yield(0)
      }
    }
    defer { looks.cancel() }
    var isMeasuring = warmUp == 0
    var inFlight = (sum: 0, count: 0)
    var ends = news.makeAsyncIterator()
    while completed < count, let ended = await ends.next() {
      completed += ended
      submitMore()
      guard warmUp > 0 else { continue }
      if isMeasuring, ended == 0 { inFlight = (inFlight.sum + pool.published.inFlight, inFlight.count + 1) }
      guard EventLoop.now - began.at >= warmUp else { continue }
      if isMeasuring { break }
      isMeasuring = true
      began = Snapshot(done.withLock { $0 })
    }
    var result = Snapshot(done.withLock { $0 }).since(began)
    _ = await pool.drain(deadline: warmUp == 0 ? 1_000_000_000 : 0)
    result.inFlight = Double(inFlight.sum) / Double(max(inFlight.count, 1))
    result.lastError = pool.published.lastError
    return result
  }

  /// Results and resource usage at one moment.
  private struct Snapshot {
    var result: Result
    let at = EventLoop.now
    private let cpu = EngineBenchmark.cpuTime()

    init(_ result: Result) { self.result = result }

    func since(_ other: Snapshot) -> Result {
      var result = result
      result.pushes -= other.result.pushes
      result.accepted -= other.result.accepted
      result.rejected -= other.result.rejected
      result.unanswered -= other.result.unanswered
      result.seconds = Double(at - other.at) / 1e9
      result.cpuPerPush = (cpu - other.cpu) / Double(max(result.pushes, 1))
      return result
    }
  }

  /// Returns the CPU time of this process so far, in microseconds (getrusage(2)).
  private static func cpuTime() -> Double {
    var usage = rusage()
    getrusage(__rusage_who_t(RUSAGE_SELF.rawValue), &usage)
    func microseconds(_ time: timeval) -> Double { Double(time.tv_sec) * 1e6 + Double(time.tv_usec) }
    return microseconds(usage.ru_utime) + microseconds(usage.ru_stime)
  }
}
