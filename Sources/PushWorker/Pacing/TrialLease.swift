import CampaignStore
import PushCore

/// The number of pushes that this worker may send for a campaign in its guard trial. The worker leases these *sends*
/// from Redis, and reports the answers to Redis.
struct TrialLease {
  /// Leased sends that are neither reserved nor used.
  private(set) var allowance = 0
  /// Sends that are reserved for credit that a slice has requested from Redis.
  private(set) var reserved = 0
  /// The last answer of Redis.
  private(set) var answer: GuardTrialAnswer?
  /// `EventLoop.now` of the last answer.
  private var answeredAt: UInt64 = 0
  /// `EventLoop.now` since which the answers of Redis have not changed.
  private var quietSince: UInt64 = 0
  private(set) var isAsking = false
  private(set) var askedAt: UInt64 = 0
  /// All sends that were leased to this worker so far.
  private var leased = 0
  private var reported = GuardCounts()
  private var returned = 0

  /// Answers of all workers that Redis has counted. If Redis has lost some of them, the property returns the answers
  /// that this worker has reported. Otherwise a worker with enough answers would wait for other workers that may have
  /// no more targets.
  var fleetCounts: GuardCounts {
    guard let counts = answer?.counts, counts.answers >= reported.answers else { return reported }
    return counts
  }

  /// A report and a request to Redis.
  struct Request {
    var wanted: Int
    var news: GuardCounts
    var returned: Int
  }

  /// Minimum time between two requests that are not urgent, in ns.
  private static let pace: UInt64 = 20_000_000
  /// Minimum time in ns between two requests for a campaign with a low rate, whose trial takes long.
  private static let slowPace: UInt64 = 200_000_000
  /// Time in ns without changes after which no more answers are expected, if nothing is in flight.
  private static let silence: UInt64 = 500_000_000

  /// Reserves leased sends for credit that a slice requests.
  mutating func spend(_ count: Int) {
    allowance -= count
    reserved += count
  }

  /// Records the result of a request for credit: `sent` of the `count` reserved sends were used. The others are
  /// available again.
  mutating func reconcile(spent count: Int, sent: Int) {
    reserved -= count
    allowance += count - sent
  }

  /// Returns the request to send to Redis now; `nil` for none.
  ///
  /// - Parameters:
  ///   - wanted: pushes that slices could send immediately.
  ///   - unanswered: Sends in flight.
  ///   - isHolding: Whether answers wait for the decision of the guard.
  ///   - counts: Answers of this worker so far.
  ///   - isAlone: Whether there are no other workers. If there are others, a worker takes at most half of the fleet's
  ///     sends. If only this worker gets bad answers, the others can use the other half.
  ///   - isSlow: Whether the campaign's rate permits only few sends.
  mutating func request(
    wanted: Int, unanswered: Int, isHolding: Bool, counts: GuardCounts, minimum: Int, isAlone: Bool = true,
    isSlow: Bool = false, now: UInt64
  ) -> Request? {
    guard !isAsking else { return nil }
    let ended = leased - counts.answers - unanswered - reserved - allowance
    let most = isAlone ? 2 * minimum : max(0, minimum - (leased - ended))
    let news = counts - reported
    let isDue = now - askedAt >= (isSlow ? Self.slowPace : Self.pace)
    let isShort = wanted > 0 && allowance <= 0 && (isDue || answer.map { $0.leased > 0 } ?? true)
    let isUnused = wanted == 0 && allowance > 0
    guard isShort || news.answers * 8 >= minimum || isDue && (news.answers > 0 || isHolding || isUnused) else {
      return nil
    }
    // Other workers may need the sends that no slice of this worker can use.
    let unused = isUnused ? allowance : 0
    allowance -= unused
    isAsking = true
    askedAt = now
    return Request(
      wanted: max(0, min(wanted - allowance, most)), news: news, returned: max(0, ended + unused - returned))
  }

  /// Returns the counts that this worker has reported to Redis, for the question whether to decline the campaign; `nil`
  /// while another request is in flight or too recent.
  mutating func withdrawal(now: UInt64) -> (reported: GuardCounts, leased: Int)? {
    guard !isAsking, now - askedAt >= Self.pace else { return nil }
    isAsking = true
    askedAt = now
    return (reported, leased - returned)
  }

  /// Records that the request with the result of ``withdrawal(now:)`` was answered or has failed.
  mutating func endWithdrawal() { isAsking = false }

  /// Returns the last report after the worker released its last slice; `nil` if there is nothing to report. The report
  /// returns leased sends without an answer, so that other workers can use them immediately.
  ///
  /// - Parameters:
  ///   - counts: Answers of this worker so far.
  ///   - unanswered: Sends that may still be answered.
  mutating func finalRequest(counts: GuardCounts, unanswered: Int, now: UInt64) -> Request? {
    let news = counts - reported
    let unused = leased - counts.answers - unanswered - returned
    guard !isAsking, news.answers > 0 || unused > 0 else { return nil }
    allowance = 0
    isAsking = true
    askedAt = now
    return Request(wanted: 0, news: news, returned: max(0, unused))
  }

  /// Applies the answer of Redis; `nil` for none.
  ///
  /// - Parameter lease: the lease of a claim, in ns.
  mutating func take(_ answer: GuardTrialAnswer?, to request: Request, lease: UInt64, now: UInt64) {
    isAsking = false
    guard let answer else { return }
    // If Redis has not answered for a long time, it is unknown whether the counts changed in between.
    let isChanged = answer.counts != self.answer?.counts || answer.inFlight != self.answer?.inFlight
    if isChanged || now - answeredAt > Self.memory(lease) { quietSince = now }
    self.answer = answer
    answeredAt = now
    reported = reported + request.news
    returned += request.returned
    leased += answer.leased
    allowance += answer.leased
  }

  /// Returns whether no more answers are expected from any worker.
  ///
  /// - Parameter lease: Time in ns without changes after which Redis considers the sends in flight lost. Redis then
  ///   leases them again, so more answers may come. After twice this time no more answers come: by then, other workers
  ///   have taken over the slices of a dead worker.
  func isQuiet(now: UInt64, lease: UInt64) -> Bool {
    guard let answer, now - answeredAt <= Self.memory(lease) else { return false }
    return now - quietSince > (answer.inFlight > 0 ? 2 * lease : Self.silence)
  }

  /// Returns the age in ns at which an answer of Redis is too old to use.
  private static func memory(_ lease: UInt64) -> UInt64 { lease / 2 }
}
