internal import PushCore
internal import PushTransport

/// Decisions about an access token: when it is requested, how long it is used, and when the credential stops.
///
/// Pure: the caller passes events, the time and random numbers, and executes the returned actions. Times are monotonic
/// milliseconds. Only one request runs at a time. While a request runs, the old token is used until it expires.
struct AccessTokenPolicy: Sendable {
  /// Rules that differ between the token endpoint and the metadata server.
  struct Rules: Sendable, Equatable {
    /// Number of consecutive failed requests after which a missing token is reported.
    var tries: Int
    /// The next token is requested at most this number of ms before the present token expires; `nil` for no limit.
    var earliestRefresh: Int?

    /// Rules for the token endpoint. Google's own library tries three times (google-auth,
    /// `google/auth/_exponential_backoff.py`).
    static let serviceAccount = Rules(tries: 3)
    /// Rules for the metadata server. The server returns the same token until some minutes before the token expires, so
    /// an earlier request is useless. Google's library tries five times (google-auth,
    /// `google/auth/compute_engine/_metadata.py`).
    static let metadataServer = Rules(tries: 5, earliestRefresh: 240_000)
  }

  /// A request for a token.
  struct Request: Sendable, Equatable {
    /// Number of the request. Only the answer to the latest request has an effect.
    let serial: Int
    /// Seconds to add to the clock for the times in the assertion.
    let timeCorrection: Int64
  }

  /// Event that the policy handles.
  enum Event: Sendable {
    /// A connection needs a token.
    case asked
    /// The time ``Actions/wakeAt`` has been reached.
    case woke
    /// A request has ended.
    case answered(serial: Int, AccessTokenAnswer)
    /// FCM refused the token of this generation with 401.
    case tokenRefused(generation: Int)
    /// FCM refused the credential for another reason. The text describes the problem.
    case credentialRefused(ReasonCode, String, generation: Int)
    /// An operator asks to try again.
    case resumed
    /// The key of the service account was replaced.
    case replaced
  }

  /// Consequences of an event.
  struct Actions: Sendable, Equatable {
    /// Request to send now.
    var request: Request?
    /// Time of the next ``Event/woke``; `nil` if nothing is due.
    var wakeAt: Int?
    /// Whether the current token or the reason for a stop has changed.
    var hasChanged: Bool
  }

  /// Reason why the credential is stopped, or will stop when its token expires.
  struct Stop: Sendable, Equatable {
    let reason: ReasonCode
    /// Problem with a hint, for people.
    let text: String
  }

  private struct Token {
    let bearer: BearerToken
    let requestedAt: Int
    let end: Int
    var refreshAt: Int
    /// Whether this token replaces a token that FCM refused.
    let followsRefusal: Bool
    var isRefused = false
  }

  /// Share of a token's lifetime after which the next token is requested, and the jitter of that share. The rest of the
  /// lifetime, about a quarter, is for retries. The jitter spreads the requests of a fleet.
  private static let refreshShare = 0.75
  private static let refreshJitter = 0.1
  /// Spread in ms of the requests to a metadata server. Without it, the requests of all workers would begin four
  /// minutes before the expiry.
  private static let spread = 60_000
  /// Pauses in ms after failures: 1, 2, 4 … 60 s, with a jitter of 10 %.
  private static let firstPause = 1000
  private static let longestPause = 60_000
  private static let pauseJitter = 0.1
  /// Minimum time in ms between two requests if an operator resumes campaigns repeatedly while a token is valid.
  private static let resumePause = 10_000
  /// Minimum time in ms between the arrival of a token and the next request, for tokens with a lifetime of a few
  /// seconds.
  private static let shortestLife = 1000
  /// Time in ms after the request for a token that replaces a refused token. If FCM refuses the replacement within this
  /// time, it would refuse another token too, so the credential stops.
  static let youngAge = 60_000

  private let rules: Rules
  private var isWanted = false
  private var token: Token?
  /// The request that runs; `nil` for none.
  private(set) var request: (request: Request, startedAt: Int)?
  private var requests = 0
  /// Start of the latest request.
  private var requestedAt = Int.min / 2
  private var issued = 0
  /// Number of consecutive failed requests, followed by the last problem and the time of the next request.
  private var failures = 0
  private var problem = ""
  private var retryAt: Int?
  private var stop: Stop?
  /// Whether a refused key is tried again while the present token is valid.
  private var isRetrying = false
  /// Seconds to add to the clock, as measured by the token endpoint.
  private(set) var timeCorrection: Int64 = 0
  /// Whether ``timeCorrection`` has changed since the last token was issued.
  private var hasCorrected = false
  private var published: (generation: Int?, stop: ReasonCode?) = (nil, nil)

  init(_ rules: Rules) { self.rules = rules }

  // MARK: State

  /// Returns the token for a push; `nil` while no valid token exists.
  func authorization(_ now: Int) -> BearerToken? {
    guard let token, !token.isRefused, now < token.end else { return nil }
    return token.bearer
  }

  /// Returns the reason why the credential is stopped; `nil` if it is not stopped. A token that is still valid is used
  /// until it expires.
  func stopped(_ now: Int) -> Stop? { authorization(now) == nil ? stop : nil }

  /// Returns the problem that delays the next token; `nil` while the present token is valid, while the credential is
  /// stopped, and during the first tries.
  func delay(_ now: Int) -> String? {
    stop == nil && failures >= rules.tries && authorization(now) == nil ? problem : nil
  }

  /// Returns the problem that prevents the next token, while the present token is still valid; `nil` for none, and
  /// during the first tries. When the present token expires, pushes wait or the credential stops.
  func renewalProblem(_ now: Int) -> String? {
    guard authorization(now) != nil else { return nil }
    return stop?.text ?? (failures >= rules.tries ? problem : nil)
  }

  // MARK: Events

  /// Handles an event.
  ///
  /// - Parameter chance: random, 0 to 1; spreads requests.
  mutating func handle(_ event: Event, now: Int, chance: Double) -> Actions {
    switch event {
    case .asked: isWanted = true
    case .woke: break
    case .answered(let serial, let answer): answered(serial, answer, now, chance)
    case .tokenRefused(let generation): tokenRefused(generation, now)
    case .credentialRefused(let reason, let text, let generation):
      guard generation == token?.bearer.generation else { break }
      token?.isRefused = true
      // A key that was refused before is also the cause of this refusal. The reason of the first refusal stays.
      halt(stop ?? Stop(reason: reason, text: text))
    case .resumed:
      guard authorization(now) != nil else {
        tryAgain(now)
        break
      }
      // Each start of a campaign resumes the credential, so the pause bounds the requests. The recorded reason for the
      // stop stays until the answer arrives.
      guard stop != nil, now - requestedAt >= Self.resumePause else { break }
      token?.refreshAt = now
      (isRetrying, hasCorrected, retryAt) = (true, false, nil)
    case .replaced:
      // A later answer to a request with the earlier key has no effect. The present token is used until the new one
      // arrives.
      request = nil
      timeCorrection = 0
      tryAgain(now)
    }
    let due = nextRequest(now)
    let current = (generation: authorization(now)?.generation, stop: stopped(now)?.reason)
    defer { published = current }
    return Actions(request: due, wakeAt: wakeAt(now), hasChanged: current != published)
  }

  private mutating func answered(_ serial: Int, _ answer: AccessTokenAnswer, _ now: Int, _ chance: Double) {
    guard let (request, startedAt) = request, request.serial == serial else { return }
    self.request = nil
    switch answer {
    case .token(let text, let lifetime): accept(text, lifetime, startedAt, now, chance)
    case .later(let text): fail(text, now, chance)
    case .wrongTime(let ahead, _) where !hasCorrected:
      // Sends one more request with the time of the endpoint. If that request is refused too, the clock is not the
      // cause.
      hasCorrected = true
      timeCorrection = request.timeCorrection - ahead
      retryAt = nil
    case .wrongTime(_, let text): halt(Stop(reason: CredentialReason.keyRefused, text: text))
    case .refused(let text):
      let clock = hasCorrected ? "; also, \(TokenEndpointReply.clock(-timeCorrection)): set it by NTP" : ""
      halt(Stop(reason: CredentialReason.keyRefused, text: text + clock))
    }
  }

  private mutating func accept(_ text: String, _ lifetime: Int, _ startedAt: Int, _ now: Int, _ chance: Double) {
    // The lifetime counts from the request, so a slow answer never makes it longer.
    let end = startedAt + lifetime
    guard now < end else { return fail("the token endpoint issued a token that has already expired", now, chance) }
    issued += 1
    let share = Self.refreshShare * (1 + Self.refreshJitter * (2 * chance - 1))
    var refreshAt = startedAt + Int(Double(lifetime) * share)
    if let earliest = rules.earliestRefresh {
      refreshAt = max(refreshAt, end - earliest + Int(Double(Self.spread) * chance))
    }
    token = Token(
      bearer: BearerToken(text: text, generation: issued), requestedAt: startedAt, end: end,
      refreshAt: max(refreshAt, now + Self.shortestLife), followsRefusal: token?.isRefused ?? false)
    clear()
  }

  private mutating func fail(_ text: String, _ now: Int, _ chance: Double) {
    isRetrying = false
    failures += 1
    problem = text
    let pause = min(Self.longestPause, Self.firstPause << min(failures - 1, 6))
    retryAt = now + Int(Double(pause) * (1 + Self.pauseJitter * (2 * chance - 1)))
  }

  private mutating func tokenRefused(_ generation: Int, _ now: Int) {
    guard let token, token.bearer.generation == generation, !token.isRefused else { return }
    // FCM can refuse a push that was sent shortly before its token expired, because of the token's age. Such a refusal
    // has no consequences: the next token is requested anyway.
    guard now < token.end else { return }
    self.token?.isRefused = true
    // The key was refused before, so no other token can follow and the credential stops immediately.
    guard stop == nil else { return }
    if token.followsRefusal, now - token.requestedAt < Self.youngAge {
      halt(
        Stop(
          reason: CredentialReason.tokenRefused,
          text: "FCM refuses every access token (status 401); check that the service account and the project exist, "
            + "and that the account has the role Firebase Cloud Messaging API Admin"))
    } else {
      // Requests a new token immediately, even if an earlier request has failed.
      retryAt = nil
    }
  }

  /// Sends no more requests. The answer to a request that is still running has no effect.
  private mutating func halt(_ stop: Stop) {
    self.stop = stop
    isRetrying = false
    request = nil
  }

  private mutating func tryAgain(_ now: Int) {
    clear()
    token?.refreshAt = now
  }

  private mutating func clear() {
    failures = 0
    retryAt = nil
    stop = nil
    isRetrying = false
    hasCorrected = false
  }

  // MARK: The next request

  private mutating func nextRequest(_ now: Int) -> Request? {
    guard let due = dueAt(now), now >= due else { return nil }
    requests += 1
    let next = Request(serial: requests, timeCorrection: timeCorrection)
    request = (next, now)
    requestedAt = now
    return next
  }

  /// Returns the time at which the next request is due; `nil` while a request runs, or if no token is needed.
  private func dueAt(_ now: Int) -> Int? {
    guard isWanted, request == nil, stop == nil || isRetrying else { return nil }
    let refreshAt = authorization(now) == nil ? now : token?.refreshAt ?? now
    return max(refreshAt, retryAt ?? refreshAt)
  }

  private func wakeAt(_ now: Int) -> Int? {
    // The token is used until it expires; then the credential stops.
    if stop != nil { return authorization(now) == nil ? nil : token?.end }
    return dueAt(now)
  }
}
