public import PushCore
public import PushTransport
internal import Synchronization

/// A source of access tokens for FCM. The source requests tokens for a service account, or from the metadata server of
/// Google Cloud.
///
/// The source can be used from any thread. Connection pools of the same account share one source. The first call of
/// ``authorization()`` requests the first token, and from then on the source renews its tokens before they expire.
/// Requests run on separate threads, never on the queue of a connection. After its deallocation, a source sends no more
/// requests.
public final class AccessTokenSource: PushCredential {
  fileprivate struct State {
    var policy: AccessTokenPolicy
    var mint: any AccessTokenMint
    var account: ServiceAccount?
    /// Seconds by which the fleet's clock is ahead of this machine's clock.
    var offset: Int64 = 0
    var wakeAt: Int?
    var observers: [@Sendable () -> Void] = []
    var waiting: [CheckedContinuation<Void, Never>] = []
  }

  private let clock: AccessTokenClock
  private let trustRoots: String?
  private let proxy: PushEndpoint.Proxy?
  private let state: Mutex<State>

  /// Creates a source for a service account.
  ///
  /// - Parameters:
  ///   - account: the account and its key.
  ///   - trustRoots: PEM file with the certificate authorities to trust at the token endpoint, instead of those of the
  ///     system.
  ///   - proxy: the proxy for the token endpoint; `nil` to use the environment.
  public convenience init(
    account: ServiceAccount, trustRoots: String? = nil, proxy: PushEndpoint.Proxy? = nil
  ) {
    self.init(
      mint: ServiceAccountMint(account, trustRoots: trustRoots, proxy: proxy), account: account, clock: .system,
      trustRoots: trustRoots, proxy: proxy)
  }

  /// Creates a source that asks the metadata server of Google Cloud.
  public convenience init(metadataServer: MetadataServer) {
    self.init(mint: metadataServer, clock: .system)
  }

  init(
    mint: any AccessTokenMint, account: ServiceAccount? = nil, clock: AccessTokenClock, trustRoots: String? = nil,
    proxy: PushEndpoint.Proxy? = nil
  ) {
    self.clock = clock
    self.trustRoots = trustRoots
    self.proxy = proxy
    state = Mutex(State(policy: AccessTokenPolicy(mint.rules), mint: mint, account: account))
  }

  /// Project of the service account in use; `nil` for the metadata server.
  var projectID: String? { state.withLock { $0.account?.projectID } }

  /// Replaces the key after a change of the key file. The present token is used until the new one arrives. If the key
  /// is the same, nothing changes.
  public func replace(account: ServiceAccount) {
    let isNew = state.withLock { state in
      guard state.account != account else { return false }
      state.account = account
      state.mint = ServiceAccountMint(account, trustRoots: trustRoots, proxy: proxy)
      return true
    }
    if isNew { handle(.replaced) }
  }

  public var clockError: Int64 { -state.withLock { $0.policy.timeCorrection } }

  // MARK: PushCredential

  public func authorization() -> PushAuthorization? {
    if let token = state.withLock({ $0.policy.authorization(clock.now()) }) { return .token(token) }
    // The timer renews a token before it expires, so an event is necessary only while a token is missing.
    handle(.asked)
    return nil
  }

  public func firstAuthorization() async -> PushAuthorization? {
    while true {
      if let authorization = authorization() { return authorization }
      await withCheckedContinuation { continuation in
        let isOver = state.withLock { state in
          let now = clock.now()
          guard state.policy.authorization(now) == nil, !state.hasGivenUp(now) else { return true }
          state.waiting.append(continuation)
          return false
        }
        if isOver { continuation.resume() }
      }
      let hasGivenUp = state.withLock { $0.hasGivenUp(clock.now()) }
      if hasGivenUp { return nil }
    }
  }

  public func record(_ event: CredentialEvent) {
    switch event {
    case .tokenExpired(let generation): handle(.tokenRefused(generation: generation))
    case .refused(let reason, let words, let generation):
      handle(.credentialRefused(reason, Self.text(of: reason, words), generation: generation))
    case .accepted, .tooManyTokens, .certificateRefused, .turnedAway: break
    }
  }

  /// Returns the description of a refusal with a hint, for people.
  ///
  /// - Parameter words: the text of a reason that this version does not know.
  private static func text(of reason: ReasonCode, _ words: String?) -> String {
    let reason = FCMReason(reason)
    guard let guide = reason.guide else {
      return "FCM answers with \(words ?? "no reason"); check the service account, its roles, the project and the "
        + "endpoint"
    }
    return "\(guide.meaning) (\(reason.name)); \(guide.hint)"
  }

  public var stopped: ReasonCode? { state.withLock { $0.policy.stopped(clock.now())?.reason } }

  public var delay: String? { state.withLock { $0.policy.delay(clock.now()) } }

  public var renewalProblem: String? { state.withLock { $0.policy.renewalProblem(clock.now()) } }

  public func resume() {
    guard stopped != nil || renewalProblem != nil else { return }
    handle(.resumed)
  }

  public func explain(_ reason: ReasonCode) -> String {
    let stop = state.withLock { $0.policy.stopped(clock.now()) }
    return stop?.text ?? "the credential was refused; fix the service account, its roles or the project"
  }

  public func setOffset(_ seconds: Int64) {
    state.withLock { $0.offset = seconds }
  }

  public func observe(_ body: @escaping @Sendable () -> Void) {
    state.withLock { $0.observers.append(body) }
  }

  // MARK: Actions

  private func handle(_ event: AccessTokenPolicy.Event) {
    let now = clock.now()
    let (actions, isEarlier, observers, waiting) = state.withLock { state in
      let actions = state.policy.handle(event, now: now, chance: .random(in: 0...1))
      // Only the timer for the earliest time is needed. A timer for another time need not be cancelled, because it has
      // no effect when it fires.
      let isEarlier = actions.wakeAt.map { wakeAt in state.wakeAt.map { wakeAt < $0 || $0 <= now } ?? true } ?? false
      if isEarlier { state.wakeAt = actions.wakeAt }
      return (
        actions, isEarlier, actions.hasChanged ? state.observers : [], state.takeWaiting(now)
      )
    }
    if let request = actions.request { start(request) }
    if isEarlier, let wakeAt = actions.wakeAt {
      clock.schedule(max(0, wakeAt - now)) { [weak self] in self?.wake(at: wakeAt) }
    }
    for continuation in waiting { continuation.resume() }
    for observer in observers { observer() }
  }

  private func wake(at time: Int) {
    let isPresent = state.withLock { state in
      guard state.wakeAt == time else { return false }
      state.wakeAt = nil
      return true
    }
    if isPresent { handle(.woke) }
  }

  private func start(_ request: AccessTokenPolicy.Request) {
    let (mint, offset) = state.withLock { ($0.mint, $0.offset) }
    let time = clock.wall() + offset + request.timeCorrection
    Task { [weak self] in
      let answer = await mint.token(at: time)
      self?.handle(.answered(serial: request.serial, answer))
    }
  }
}

extension AccessTokenSource.State {
  /// Returns whether no token can be expected soon.
  func hasGivenUp(_ now: Int) -> Bool { policy.stopped(now) != nil || policy.delay(now) != nil }

  /// Returns the callers whose wait has ended.
  mutating func takeWaiting(_ now: Int) -> [CheckedContinuation<Void, Never>] {
    guard !waiting.isEmpty, policy.authorization(now) != nil || hasGivenUp(now) else { return [] }
    defer { waiting = [] }
    return waiting
  }
}
