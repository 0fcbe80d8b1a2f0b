import CampaignStore

/// The permits of one rate that this worker holds. A permit allows one push. Redis grants permits for a short time, and
/// this type makes them usable in steps (*releases* them).
///
/// Permits expire quickly. Otherwise a worker that was stopped could send a large burst when it continues. The next
/// request returns unused permits. Permits of a dead worker are lost until the bucket grants them again.
struct RateLease {
  /// Permits that may be used now.
  private(set) var allowance = 0
  /// Permits spent on credit that a slice has requested from Redis.
  private(set) var reserved = 0
  /// `EventLoop.now` since which only this rate delays pushes; `nil` while another limit or nothing delays them.
  private(set) var limitedSince: UInt64?
  private(set) var isAsking = false
  /// `EventLoop.now` from which this worker may send a new request.
  private var dueAt: UInt64 = 0
  /// The permits of the latest grant.
  private var batch = PermitBatch()
  /// Unused permits that the next request returns.
  private var unused = 0
  /// Permits used since the last request.
  private var used = 0
  /// Permits used since the start of the worker.
  private(set) var total = 0

  /// A request to Redis.
  struct Request: Equatable {
    var wanted: Int
    /// Permits of earlier grants that were not used.
    var returned: Int
  }

  /// Permits that were granted together.
  private struct PermitBatch {
    var total = 0
    /// Number of these permits that are released: usable or used.
    var released = 0
    /// `EventLoop.now` at which they arrived.
    var at: UInt64 = 0

    /// Maximum number of permits that are usable at a time: the permits of two steps. Older permits have expired.
    var most: Int { max(1, 2 * ((total + RateLease.steps - 1) / RateLease.steps)) }
  }

  /// Time in ns over which the permits of a grant are released.
  static let slice = UInt64(RateBucket.slice) * 1000
  /// Number of steps in which a grant is released, so that each request of a slice gets some permits and no burst
  /// occurs.
  static let steps = 5

  /// Releases the permits that are due, and expires old ones.
  mutating func advance(_ now: UInt64) {
    if batch.released < batch.total {
      let step = min(Int((now - batch.at) / (Self.slice / UInt64(Self.steps))), Self.steps - 1) + 1
      let due = (batch.total * step + Self.steps - 1) / Self.steps
      allowance += due - batch.released
      batch.released = due
      returnExcess()
    } else if allowance > 0, now - batch.at > 2 * Self.slice {
      unused += allowance
      allowance = 0
    }
  }

  /// Reserves permits for credit that a slice requests.
  mutating func spend(_ count: Int) {
    allowance -= count
    reserved += count
  }

  /// Records the result of a request for credit: `sent` of the `count` reserved permits were used. The others are
  /// available again.
  mutating func reconcile(spent count: Int, sent: Int) {
    // Permits that were reserved before the rate applied are not contained in `reserved`, so it could fall below 0.
    reserved = max(0, reserved - count)
    allowance += count - sent
    used += sent
    total += sent
    returnExcess()
  }

  /// Records used permits whose pushes were not sent. The next request returns them.
  mutating func giveBack(_ count: Int) {
    unused += count
    used = max(0, used - count)
  }

  /// Returns the request to send to Redis now; `nil` for none.
  ///
  /// - Parameters:
  ///   - wanted: Pushes that slices could send immediately.
  ///   - now: `EventLoop.now`.
  mutating func request(wanted: Int, now: UInt64) -> Request? {
    if wanted == 0 || unused > 0 {
      limitedSince = nil
    } else if allowance == 0 {
      limitedSince = limitedSince ?? now
    }
    guard !isAsking, now >= dueAt else { return nil }
    guard wanted > 0 else { return finalRequest(now) }
    guard wanted > allowance else { return nil }
    // A worker that did not use all its permits requests only a quarter more than it used, because other workers may
    // need permits.
    let usable = used + reserved
    return ask(unused > 0 ? min(wanted - allowance, usable + usable / 4 + 1) : wanted - allowance, now)
  }

  /// Returns a request that only returns the unused permits; `nil` if none is unused, or a request is in flight.
  mutating func finalRequest(_ now: UInt64) -> Request? {
    limitedSince = nil
    unused += allowance + batch.total - batch.released
    allowance = 0
    batch.released = batch.total
    return unused > 0 && !isAsking ? ask(0, now) : nil
  }

  private mutating func ask(_ wanted: Int, _ now: UInt64) -> Request {
    defer { (unused, used) = (0, 0) }
    isAsking = true
    dueAt = now + Self.slice
    return Request(wanted: wanted, returned: unused)
  }

  /// Applies the answer of Redis; `nil` for none. Without an answer, it is unknown which permits were
  /// granted or returned, so they are neither used nor returned again.
  mutating func take(_ answer: RateAnswer?, now: UInt64) {
    isAsking = false
    guard let answer else { return }
    unused += batch.total - batch.released
    batch = PermitBatch(total: answer.leased, at: now)
    dueAt = max(dueAt, now + UInt64(answer.wait) * 1000)
    advance(now)
  }

  private mutating func returnExcess() {
    guard allowance > batch.most else { return }
    unused += allowance - batch.most
    allowance = batch.most
  }
}
