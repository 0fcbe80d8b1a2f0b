internal import EventLoop
internal import Glibc
internal import PushCore
internal import Synchronization

/// Sends pushes to distinct tokens through one pool and measures what that costs; `carillon bench` prints it.
public enum EngineBenchmark {
  /// What was measured.
  public struct Result: Sendable {
    /// Pushes that completed.
    public var pushes = 0
    /// Of them, those that APNs accepted.
    public var accepted = 0
    /// Of them, those it rejected.
    public var rejected = 0
    /// Of them, those without an answer.
    public var unanswered = 0
    /// Wall-clock seconds from the first submission to the last completion.
    public var seconds = 0.0
    /// CPU time of this whole process (user and system) in microseconds, for each push.
    public var cpuPerPush = 0.0
    /// What went wrong last.
    public var lastError: String?
  }

  /// Pushes in one batch, and so many batches wait or are on their way at most.
  private static let batchSize = 500
  private static let batchesAhead = 8

  /// Sends `count` pushes and returns when the last has completed.
  ///
  /// - Parameters:
  ///   - configuration: where to; one connection unless it says otherwise.
  ///   - credential: what APNs lets pushes in for.
  ///   - headers: of every push.
  ///   - payload: of every push.
  ///   - count: how many.
  ///   - token: the raw device token of the n-th push, from 0.
  public static func run(
    _ configuration: ConnectionPool.Configuration, credential: any PushCredential, headers: PushHeaders,
    payload: [UInt8], count: Int, token: @escaping @Sendable (Int) -> [UInt8]
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
    let ids = PushID(campaign: "bench")
    let began = EventLoop.now
    let cpuBefore = cpuTime()
    var submitted = 0
    var completed = 0
    func submitMore() {
      while submitted < count, submitted - completed <= (batchesAhead - 1) * batchSize {
        var batch = PushBatch(headers: headers)
        batch.bytes = payload
        let end = min(submitted + batchSize, count)
        for index in submitted..<end {
          let bytes = token(index)
          let start = Int32(batch.bytes.count)
          batch.bytes += bytes
          batch.pushes.append(
            Push(
              tag: UInt64(index), apnsID: ids.apnsID(token: bytes), token: start..<Int32(batch.bytes.count),
              payload: 0..<Int32(payload.count)))
        }
        pool.submit(batch, lane: 0)
        submitted = end
      }
    }
    submitMore()
    if count > 0 {
      for await ended in news {
        completed += ended
        if completed >= count { break }
        submitMore()
      }
    }
    let cpu = cpuTime() - cpuBefore
    let seconds = Double(EventLoop.now - began) / 1e9
    _ = await pool.drain(deadline: 1_000_000_000)
    var result = done.withLock { $0 }
    result.seconds = seconds
    result.cpuPerPush = count > 0 ? cpu / Double(count) : 0
    result.lastError = pool.published.lastError
    return result
  }

  /// CPU time of this process so far, in microseconds (getrusage(2)).
  private static func cpuTime() -> Double {
    var usage = rusage()
    getrusage(__rusage_who_t(RUSAGE_SELF.rawValue), &usage)
    func microseconds(_ time: timeval) -> Double { Double(time.tv_sec) * 1e6 + Double(time.tv_usec) }
    return microseconds(usage.ru_utime) + microseconds(usage.ru_stime)
  }
}
