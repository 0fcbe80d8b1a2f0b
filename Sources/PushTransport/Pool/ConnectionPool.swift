internal import EventLoop
public import PushCore
internal import Synchronization

/// Pool of connections to the service with one credential in one environment, and the backlog of pushes for them.
///
/// Batches wait here by lane, and connections take pushes when they have room. Pushes that were not taken can still be
/// taken back. Connections take pushes only as long as the caller may send (``mayTake(until:)``). Unproven batches have
/// a separate connection, see ``PushBatch/isUnproven``. While the service answers almost everything with 503, only
/// occasional trial pushes are taken, see ``CircuitBreaker``.
///
/// Every submitted push either completes exactly once or is returned by ``cancelBacklog(where:)`` or
/// ``drain(deadline:)``. Safe to use from any thread. Drain a pool before releasing it: until then, it keeps itself
/// alive.
public final class ConnectionPool: Sendable {
  /// Configuration of a pool.
  public struct Configuration: Sendable {
    /// Endpoint of the service.
    public var endpoint: PushEndpoint
    /// Push service: reads answers and returns their consequences for a connection.
    public var service: any PushService
    /// Maximum number of connections, without the one for unproven pushes; at least 1.
    public var connections: Int
    /// Maximum number of streams on one connection. APNs allows 1000 once it trusts a connection.
    public var maximumStreams: Int
    /// Maximum number of streams on the connection for unproven pushes, which must carry all of them.
    public var unprovenStreams: Int
    /// Constant number of streams instead of an adaptive one; the benchmark uses it for comparison.
    package var fixedStreams: Int?
    /// Nanoseconds from the start of a push to its answer; after that, the result is ambiguous.
    public var requestTimeout: UInt64
    /// Nanoseconds for lookup, connection and TLS handshake.
    public var connectTimeout: UInt64
    /// Nanoseconds without a push after which a connection is replaced instead of being used. Apple recommends a PING
    /// after an hour to check whether the connection still works. libcurl can't do this; the native engine does, and
    /// ignores this value.
    public var idleLimit: UInt64
    /// Limits for opening connections.
    public var reconnect: ReconnectBudget.Limits
    /// Waits between trial pushes while the service answers 503.
    public var breaker: CircuitBreaker.Limits
    /// Transport that carries pushes.
    public var engine: PushEngineKind

    /// Memberwise, with defaults for APNs.
    public init(
      endpoint: PushEndpoint, service: any PushService, connections: Int = 2, maximumStreams: Int = 1000,
      unprovenStreams: Int = 1000,
      requestTimeout: UInt64 = 30_000_000_000, connectTimeout: UInt64 = 10_000_000_000,
      idleLimit: UInt64 = 3_600_000_000_000, reconnect: ReconnectBudget.Limits = .init(),
      breaker: CircuitBreaker.Limits = .init(), engine: PushEngineKind = .native
    ) {
      self.endpoint = endpoint
      self.service = service
      self.connections = max(1, connections)
      self.maximumStreams = max(1, maximumStreams)
      self.unprovenStreams = max(1, unprovenStreams)
      self.requestTimeout = requestTimeout
      self.connectTimeout = connectTimeout
      self.idleLimit = idleLimit
      self.reconnect = reconnect
      self.breaker = breaker
      self.engine = engine
    }

    /// Number of the connection for unproven pushes; the others come before it.
    var unprovenNumber: Int { connections }
  }

  struct State {
    /// Pushes that wait for the connection for unproven pushes, and pushes that wait for the others.
    var unproven = Backlog()
    var backlog = Backlog()
    var budget: ReconnectBudget
    var breaker: CircuitBreaker
    var addresses = AddressSpread()
    var engines: [any PushEngine] = []
    /// Whether each engine found no work and must be woken when there is some.
    var isIdle: [Bool] = []
    var connections: [ConnectionState] = []
    var isDraining = false
    var lastError: String?
    var times = AnswerTimes()
    /// Time until which pushes may be taken, in monotonic ns; `nil` for no limit.
    var mayTakeUntil: UInt64?
    /// Time when the breaker opened; `nil` while it is closed.
    var breakerOpenSince: UInt64?
    /// Time when connections began to fail, and the last error; `nil` after an answer.
    var failure: (since: UInt64, reason: String)?
  }

  private let credential: any PushCredential
  private let service: any PushService
  private let onCompletions: @Sendable ([PushCompletion]) -> Void
  private let state: Mutex<State>

  /// Creates a pool without connections. It opens them when there is something to send.
  ///
  /// - Parameters:
  ///   - configuration: the endpoint, the limits and the engine.
  ///   - credential: the credential for the service; may be shared with other pools.
  ///   - onCompletions: called with batches of completions, on the queue of a connection; calls for several connections
  ///     may run at the same time. It must not block.
  public convenience init(
    configuration: Configuration, credential: any PushCredential,
    onCompletions: @escaping @Sendable ([PushCompletion]) -> Void
  ) {
    self.init(configuration: configuration, credential: credential, onCompletions: onCompletions) { number, pool in
      var own = configuration
      if number == configuration.unprovenNumber { own.maximumStreams = configuration.unprovenStreams }
      return switch configuration.engine {
      case .curl:
        ConnectionEngine(number: number, configuration: own, connector: CurlConnector(configuration: own), supply: pool)
      case .native:
        ConnectionEngine(number: number, configuration: own, connector: NativeConnector(own), supply: pool)
      }
    }
  }

  init(
    configuration: Configuration, credential: any PushCredential,
    onCompletions: @escaping @Sendable ([PushCompletion]) -> Void,
    makeEngine: (Int, any PushSupply) -> any PushEngine
  ) {
    self.credential = credential
    service = configuration.service
    self.onCompletions = onCompletions
    let budget = ReconnectBudget(limits: configuration.reconnect, now: EventLoop.now)
    state = Mutex(State(budget: budget, breaker: CircuitBreaker(limits: configuration.breaker)))
    let engines = (0...configuration.unprovenNumber).map { makeEngine($0, self) }
    state.withLock { state in
      state.engines = engines
      state.isIdle = engines.map { _ in true }
      state.connections = engines.map { _ in ConnectionState() }
      state.connections[configuration.unprovenNumber].isForUnproven = true
    }
    credential.observe { [weak self] in self?.wakeAll() }
  }

  /// Appends pushes to those of their lane.
  ///
  /// - Parameter lane: 0 is served first; a few lanes are expected, not thousands.
  /// - Returns: `false` if the pool is draining; then no push was accepted.
  @discardableResult
  public func submit(_ batch: PushBatch, lane: Int) -> Bool {
    let idle = state.withLock { state -> [any PushEngine]? in
      guard !state.isDraining else { return nil }
      if batch.isUnproven {
        state.unproven.append(batch, lane: lane)
      } else {
        state.backlog.append(batch, lane: lane)
      }
      return state.takeIdle(forUnproven: batch.isUnproven)
    }
    guard let idle else { return false }
    for engine in idle { engine.wake() }
    return true
  }

  /// Allows connections to take pushes until `deadline`. A later call can extend the time. Without any call, there is
  /// no limit.
  ///
  /// This is for a caller that sends under a lease. When a stopped process continues (SIGSTOP, a suspended machine),
  /// other workers may have sent the pushes that wait here. The connections continue before the worker can check
  /// whether it still owns these pushes.
  ///
  /// - Parameter deadline: monotonic nanoseconds; an earlier deadline than before has no effect.
  public func mayTake(until deadline: UInt64) {
    let woken = state.withLock { state -> [any PushEngine] in
      let wasOver = state.isOver(EventLoop.now)
      state.mayTakeUntil = max(state.mayTakeUntil ?? 0, deadline)
      return wasOver ? state.takeIdle(forUnproven: false) + state.takeIdle(forUnproven: true) : []
    }
    for engine in woken { engine.wake() }
  }

  /// Takes back pushes that no connection has taken, for example of a campaign that was paused.
  ///
  /// - Parameter isUnwanted: decides by the push's tag; called under the pool's lock, so it must be quick.
  /// - Returns: the tags that were taken back; they never complete.
  public func cancelBacklog(where isUnwanted: (UInt64) -> Bool) -> [UInt64] {
    state.withLock { $0.backlog.remove(where: isUnwanted) + $0.unproven.remove(where: isUnwanted) }
  }

  /// Takes back at most `limit` pushes that no connection has taken, because other pushes need their places. It begins
  /// with the lowest lane, and in a lane with the pushes that were submitted last.
  ///
  /// - Parameter isUnwanted: decides by the push's tag; called under the pool's lock, so it must be quick.
  /// - Returns: the tags that were taken back, in that order; they never complete.
  public func cancelBacklog(limit: Int, where isUnwanted: (UInt64) -> Bool = { _ in true }) -> [UInt64] {
    state.withLock { state in
      var removed: [UInt64] = []
      for lane in (0..<max(state.backlog.laneCount, state.unproven.laneCount)).reversed() {
        removed += state.unproven.removeNewest(limit - removed.count, lane: lane, where: isUnwanted)
        removed += state.backlog.removeNewest(limit - removed.count, lane: lane, where: isUnwanted)
      }
      return removed
    }
  }

  /// Returns whether the pool can send at the moment. Cheap enough for a call every few milliseconds.
  ///
  /// - Parameters:
  ///   - now: monotonic nanoseconds.
  ///   - patience: nanoseconds without an answer after which the pool counts as unable to send.
  public func health(now: UInt64, patience: UInt64 = PoolHealth.patience) -> PoolHealth {
    let stopped = credential.stopped
    return state.withLock { state in
      PoolHealth(
        .init(
          stopped: stopped, breakerOpenSince: state.breakerOpenSince, connections: state.connections,
          failure: state.failure),
        now: now, patience: patience)
    }
  }

  /// Whether the breaker is open or half-open: the service answers almost everything with 503, and only trial pushes
  /// are sent.
  public var isBreakerOpen: Bool { state.withLock { $0.breaker.state != .closed } }

  /// Present state of the pool.
  public var published: PoolState {
    state.withLock { $0.published(now: EventLoop.now) }
  }

  /// Waits for answers to the pushes in flight, and closes the connections.
  ///
  /// It returns regardless of the engines. An engine that hangs is abandoned, and its pushes never complete
  /// (``PoolState/lastError`` reports this).
  ///
  /// - Parameters:
  ///   - deadline: nanoseconds; pushes without an answer after that complete as ambiguous.
  ///   - patience: nanoseconds after the deadline in which engines must end. Closing takes ms; an overloaded machine
  ///     needs more.
  /// - Returns: the tags of pushes that no connection had taken; they never complete.
  public func drain(deadline: UInt64, patience: UInt64 = 10_000_000_000) async -> [UInt64] {
    let (engines, left) = state.withLock { state in
      state.isDraining = true
      return (state.engines, state.backlog.remove { _ in true } + state.unproven.remove { _ in true })
    }
    let ends = EngineEnds(count: engines.count)
    for engine in engines {
      Task {
        await engine.drain(deadline: deadline)
        ends.note()
      }
    }
    let missing = await ends.wait(atMost: min(deadline, Self.longestTime) + min(patience, Self.longestTime))
    state.withLock { state in
      state.engines = []
      if missing > 0 { state.lastError = Self.textOfMissing(missing, of: engines.count) }
    }
    return left
  }

  /// Nanoseconds of a year, so that no sum overflows.
  private static let longestTime: UInt64 = 365 * 86_400 * 1_000_000_000

  private static func textOfMissing(_ missing: Int, of count: Int) -> String {
    "\(missing) of \(count) connections did not close in time: their pushes in flight are in doubt"
  }

  private func wakeAll() {
    for engine in state.withLock({ $0.engines }) { engine.wake() }
  }
}

extension ConnectionPool: PushSupply {
  func take(upTo count: Int, for engine: Int) -> PushSupplied {
    state.withLock { state in
      let now = EventLoop.now
      guard state.hasWork(for: engine), !state.isOver(now) else {
        state.isIdle[engine] = true
        return .nothing
      }
      let isClosed = state.breaker.state == .closed
      if !isClosed {
        guard let wait = state.breaker.untilTrial(now: now) else {
          state.isIdle[engine] = true
          return .nothing
        }
        if wait > 0 { return .wait(wait) }
      }
      guard let part = state.take(upTo: isClosed ? count : 1, for: engine) else { return .nothing }
      if !isClosed { state.breaker.beginTrial(tag: part.batch.pushes[part.range.lowerBound].tag) }
      state.connections[engine].took(part.range.count, now: now)
      return .pushes(part)
    }
  }

  func authorization() -> PushAuthorization? { credential.authorization() }

  var stopped: ReasonCode? { credential.stopped }

  func mayOpen(_ engine: Int) -> ReconnectBudget.Decision? {
    state.withLock { state in
      let now = EventLoop.now
      guard state.hasWork(for: engine), let wait = state.breaker.untilTrial(now: now) else {
        state.isIdle[engine] = true
        return nil
      }
      if wait > 0 { return .wait(wait) }
      return state.budget.request(
        now: now, jitter: .random(in: 0..<1), isMinor: state.connections[engine].isForUnproven)
    }
  }

  func mayConnect(_ engine: Int, to address: String) -> Bool {
    state.withLock { state in
      guard state.addresses.admits(address, for: engine) else { return false }
      state.connections[engine].address = address
      return true
    }
  }

  func note(_ event: ConnectionEvent, of engine: Int) {
    if case .credential(let event) = event { return credential.note(event) }
    let now = EventLoop.now
    state.withLock { state in
      let silentSince = state.connections[engine].silentSince
      state.connections[engine].note(event, now: now)
      switch event {
      case .established:
        state.failure = nil
        state.budget.established(now: now)
        state.addresses.established(engine)
      case .trouble(let error): state.lastError = error
      case .failed(let error, let accepted):
        state.lastError = error
        state.budget.ended(accepted: accepted)
        state.failure = (since: state.failure?.since ?? silentSince ?? now, reason: error)
        state.budget.failed(now: now, jitter: .random(in: 0..<1))
        state.addresses.failed(engine)
      case .closed(let accepted):
        state.budget.ended(accepted: accepted)
        state.addresses.closed(engine)
      case .opening, .credential: break
      }
    }
    guard event == .established else { return }
    credential.note(.accepted)
    // The other engines may open their connections now.
    wakeAll()
  }

  func complete(_ completions: [PushCompletion], by engine: Int, window: Int, times: AnswerTimes) {
    let (isNews, slowed) = state.withLock { state -> (Bool, [any PushEngine]) in
      state.connections[engine].inFlight -= completions.count
      state.connections[engine].window = window
      state.times.add(times)
      if completions.contains(where: { $0.kind == .answered }) { state.noteAnswer(on: engine, now: EventLoop.now) }
      let openings = state.breaker.openings
      let isNews = state.breaker.note(completions, of: service)
      if isNews { state.noteBreaker(now: EventLoop.now) }
      return (isNews, state.breaker.openings > openings ? state.engines : [])
    }
    for engine in slowed { engine.startSmall() }
    onCompletions(completions)
    // Each engine checks the new state when it has something to send.
    if isNews { wakeAll() }
  }
}
