import Redis
import TestSupport

/// Measures the time from a worker's death until another worker has claimed its slices.
///
/// If another worker dies before that, it may be the one that was about to take over. Such times are kept separately.
public actor Takeovers {
  private struct Orphan {
    var slice: String
    var claim: String
    var diedAt: ContinuousClock.Instant
    var isDisturbed = false
  }

  private let redis: RedisClient
  private let namespace: String
  private let isTiming: Bool
  private var orphans: [Orphan] = []
  private var watcher: Task<Void, Never>?
  /// Times of takeovers during which no other worker died.
  public private(set) var times: [Duration] = []
  /// Times of takeovers during which another worker died.
  public private(set) var disturbedTimes: [Duration] = []

  init(redis: RedisClient, namespace: String, isTiming: Bool) {
    self.redis = redis
    self.namespace = namespace
    self.isTiming = isTiming
  }

  /// Number of slices that no worker has taken over yet.
  public var waiting: Int { orphans.count }

  func stop() {
    watcher?.cancel()
    orphans = []
  }

  /// Records the slices of a worker that has just died, before another worker with its name starts.
  func record(deathOf worker: String) async {
    guard isTiming else { return }
    let diedAt = ContinuousClock.now
    for index in orphans.indices { orphans[index].isDisturbed = true }
    let isDisturbed = !orphans.isEmpty
    for slice in (try? await redis.slices(heldBy: worker, namespace: namespace)) ?? [] {
      orphans.append(Orphan(slice: slice.key, claim: slice.claim, diedAt: diedAt, isDisturbed: isDisturbed))
    }
    if watcher == nil { watcher = Task { await self.watch() } }
  }

  private func watch() async {
    while !Task.isCancelled {
      if let claims = try? await claims() {
        let now = ContinuousClock.now
        let settled = Set(claims.filter { $0.0.claim != $0.1 }.map(\.0.claim))
        // This uses the current orphans, not a copy from before the request, because another death may have disturbed
        // them during the request.
        for orphan in orphans where settled.contains(orphan.claim) {
          if orphan.isDisturbed {
            disturbedTimes.append(now - orphan.diedAt)
          } else {
            times.append(now - orphan.diedAt)
          }
        }
        orphans.removeAll { settled.contains($0.claim) }
      }
      await elapse(.milliseconds(50))
    }
  }

  private func claims() async throws -> [(Orphan, String?)] {
    let asked = orphans
    guard !asked.isEmpty else { return [] }
    var pipeline = RedisPipeline()
    for orphan in asked { pipeline.append("HGET", orphan.slice, "claim") }
    let replies = try await redis.execute(pipeline)
    return zip(asked, replies).map { ($0, $1.string) }
  }
}

extension RedisClient {
  /// Returns the keys and claims of the slices that a worker has claimed.
  func slices(heldBy worker: String, namespace: String) async throws -> [(key: String, claim: String)] {
    var slices: [(key: String, claim: String)] = []
    let list = try await command("LRANGE", "{\(namespace)}:processing:\(worker)", 0, -1).get()
    for reference in list.compactMap(\.string) {
      // `partition:campaign`
      guard let colon = reference.firstIndex(of: ":") else { continue }
      let key = "{\(namespace):\(reference[..<colon])}:slice\(reference[colon...])"
      let state = try await command("HMGET", key, "owner", "claim").get()
      if state[0].string == worker, let claim = state[1].string { slices.append((key: key, claim: claim)) }
    }
    return slices
  }
}
