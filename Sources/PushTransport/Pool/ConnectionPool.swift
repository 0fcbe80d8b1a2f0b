internal import EventLoop
public import PushCore
internal import Synchronization

/// Pool of connections to a push service, for one credential and one environment. It has a backlog of pushes that no
/// connection has taken yet.
///
/// Batches wait in the backlog by lane, and connections take pushes when they have room. The caller can take back
/// pushes that no connection has taken. Connections take pushes only as long as the caller may send
/// (``mayTake(until:)``). Unproven batches have a separate connection if the service's policy asks for one, see
/// ``PushBatch/isUnproven``. While the service answers almost everything with server errors, connections take only
/// occasional trial pushes, see ``CircuitBreaker``.
///
/// Every submitted push either completes exactly once or is returned by ``cancelBacklog(where:)`` or
/// ``drain(deadline:)``. The pool may be used from any thread. Call ``drain(deadline:)`` at the end: until then, the
/// pool stays in memory.
public final class ConnectionPool: Sendable {
  /// Configuration of a pool.
  public struct Configuration: Sendable {
    /// Endpoint of the service.
    public var endpoint: PushEndpoint
    /// Push service. It parses answers and returns their consequences for a connection.
    public var service: any PushService
    /// Policy of the service for its connections; by default ``PushCore/PushService/connectionPolicy``.
    package var policy: ConnectionPolicy
    /// Maximum number of connections, not counting the connection for unproven pushes; at least 1.
    public var connections: Int
    /// Maximum number of streams on one connection.
    public var maximumStreams: Int
    /// Maximum number of streams on the connection for unproven pushes. There is only one such connection.
    public var unprovenStreams: Int
    /// Fixed number of streams, for comparison in the benchmark; `nil` to adapt the number.
    package var fixedStreams: Int?
    /// Maximum time from the start of a push to its answer, in ns. After that, the result of the push is unknown.
    public var requestTimeout: UInt64
    /// Maximum time for name lookup, connection and TLS handshake, in ns.
    public var connectTimeout: UInt64
    /// Time without a push, in ns, after which the libcurl engine replaces a connection. Apple recommends a PING after
    /// an hour to check whether the connection still works. The native engine sends such PINGs and ignores this value.
    /// libcurl can't send a PING.
    public var idleLimit: UInt64
    /// Limits for opening connections.
    public var reconnect: ReconnectBudget.Limits
    /// Limits of the circuit breaker: waits between trial pushes while the service answers with server errors.
    public var breaker: CircuitBreaker.Limits
    /// Transport that carries pushes.
    public var engine: PushEngineKind

    /// Creates a configuration, with defaults for APNs. The service's policy can lower the numbers of streams and raise
    /// `requestTimeout`.
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
      policy = service.connectionPolicy
      self.maximumStreams = max(1, min(maximumStreams, policy.maximumStreams))
      self.unprovenStreams = max(1, min(unprovenStreams, policy.maximumStreams))
      self.requestTimeout = max(requestTimeout, policy.minimumAnswerTimeout)
      self.connectTimeout = connectTimeout
      self.idleLimit = idleLimit
      self.reconnect = reconnect
      self.breaker = breaker
      self.engine = engine
    }

    /// Index of the connection for unproven pushes, which is the last connection; `nil` if the policy has none.
    var unprovenNumber: Int? { policy.hasUnprovenConnection ? connections : nil }
  }

  struct State {
    /// Unproven pushes that no connection has taken.
    var unproven = Backlog()
    /// Other pushes that no connection has taken.
    var backlog = Backlog()
    var budget: ReconnectBudget
    var breaker: CircuitBreaker
    var addresses = AddressSpread()
    var engines: [any PushEngine] = []
    /// For each engine, whether it is idle: its last request for pushes got none. The pool must wake such an engine
    /// when there are pushes for it.
    var isIdle: [Bool] = []
    var connections: [ConnectionState] = []
    var isDraining = false
    var lastError: String?
    var times = AnswerTimes()
    /// Time until which connections may take pushes, in monotonic ns; `nil` for no limit.
    var mayTakeUntil: UInt64?
    /// Time when the breaker opened; `nil` while it is closed.
    var breakerOpenSince: UInt64?
    /// Time when ``ConnectionPool/health(now:)`` first found that the credential has no authorization; `nil` while the
    /// credential has one.
    var delayedSince: UInt64?
    /// Time when ``ConnectionPool/health(now:)`` first found, after the last answer, that pushes wait for a connection;
    /// `nil` if it found none.
    var waitingSince: UInt64?
    /// Time of the first failure since the last answer, and the error of the latest failure; `nil` if there is none.
    var failure: (since: UInt64, reason: String)?
  }

  private let credential: any PushCredential
  private let service: any PushService
  private let policy: ConnectionPolicy
  private let onCompletions: @Sendable ([PushCompletion]) -> Void
  private let state: Mutex<State>

  /// Creates a pool without connections. The pool opens connections when there is something to send.
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
    policy = configuration.policy
    self.onCompletions = onCompletions
    let budget = ReconnectBudget(limits: configuration.reconnect, now: EventLoop.now)
    state = Mutex(State(budget: budget, breaker: CircuitBreaker(limits: configuration.breaker)))
    let engines = (0...(configuration.unprovenNumber ?? configuration.connections - 1)).map { makeEngine($0, self) }
    state.withLock { state in
      state.engines = engines
      state.isIdle = engines.map { _ in true }
      state.connections = engines.map { _ in ConnectionState() }
      if let number = configuration.unprovenNumber { state.connections[number].isForUnproven = true }
    }
    credential.observe { [weak self] in self?.wakeAll() }
  }

  /// Appends pushes to the queue of their lane.
  ///
  /// - Parameter lane: the priority; 0 is sent first. The pool is made for a few lanes.
  /// - Returns: `false` if the pool is draining and has not accepted the pushes.
  @discardableResult
  public func submit(_ batch: PushBatch, lane: Int) -> Bool {
    let isApart = batch.isUnproven && policy.hasUnprovenConnection
    let idle = state.withLock { state -> [any PushEngine]? in
      guard !state.isDraining else { return nil }
      if isApart {
        state.unproven.append(batch, lane: lane)
      } else {
        state.backlog.append(batch, lane: lane)
      }
      return state.takeIdle(forUnproven: isApart)
    }
    guard let idle else { return false }
    for engine in idle { engine.wake() }
    return true
  }

  /// Allows connections to take pushes until `deadline`. A later call can extend the time. Before the first call,
  /// connections take pushes without a limit.
  ///
  /// A caller that sends under a lease needs this limit. A process may be stopped for a time (SIGSTOP, a suspended
  /// machine). In that time, other workers may send the pushes of this backlog. When the process continues, its
  /// connections would send them again before the worker could check whether it still owns them.
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

  /// Removes pushes that no connection has taken, for example the pushes of a paused campaign.
  ///
  /// - Parameter isUnwanted: decides by the push's tag; called under the pool's lock, so it must be quick.
  /// - Returns: the tags of the removed pushes; they never complete.
  public func cancelBacklog(where isUnwanted: (UInt64) -> Bool) -> [UInt64] {
    state.withLock { $0.backlog.remove(where: isUnwanted) + $0.unproven.remove(where: isUnwanted) }
  }

  /// Removes at most `limit` pushes that no connection has taken, to make room for other pushes. The removal begins
  /// with the lane of the lowest priority and, within a lane, with the pushes that were submitted last.
  ///
  /// - Parameter isUnwanted: decides by the push's tag; called under the pool's lock, so it must be quick.
  /// - Returns: the tags of the removed pushes, in that order; they never complete.
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

  /// Returns whether the pool can send now. The call is cheap and may be made every few milliseconds.
  ///
  /// - Parameter now: monotonic nanoseconds.
  public func health(now: UInt64) -> PoolHealth {
    let (stopped, delay) = (credential.stopped, credential.delay)
    return state.withLock { state in
      state.delayedSince = delay == nil ? nil : state.delayedSince ?? now
      state.waitingSince = state.backlog.count + state.unproven.count == 0 ? nil : state.waitingSince ?? now
      return PoolHealth(
        .init(
          stopped: stopped, delay: delay.map { (state.delayedSince ?? now, $0) },
          breakerOpenSince: state.breakerOpenSince, connections: state.connections, failure: state.failure,
          waitingSince: state.waitingSince),
        now: now)
    }
  }

  /// Whether the circuit breaker is open or half-open. The service then answers almost every push with server errors,
  /// and the pool sends only trial pushes.
  public var isBreakerOpen: Bool { state.withLock { $0.breaker.state != .closed } }

  /// Present state of the pool.
  public var published: PoolState {
    state.withLock { $0.published(now: EventLoop.now) }
  }

  /// Waits for answers to the pushes in flight, and closes the connections.
  ///
  /// The function returns even if an engine hangs. The pushes in flight on that engine never complete, and
  /// ``PoolState/lastError`` reports this.
  ///
  /// - Parameters:
  ///   - deadline: time to wait for answers, in ns. Pushes without an answer after this time complete with an unknown
  ///     result.
  ///   - timeout: time after the deadline, in ns, in which engines must end. Usually they need a few ms.
  /// - Returns: the tags of pushes that no connection had taken; they never complete.
  public func drain(deadline: UInt64, timeout: UInt64 = 10_000_000_000) async -> [UInt64] {
    let (engines, left) = state.withLock { state in
      state.isDraining = true
      return (state.engines, state.backlog.remove { _ in true } + state.unproven.remove { _ in true })
    }
    let ends = EngineEnds(count: engines.count)
    for engine in engines {
      Task {
        await engine.drain(deadline: deadline)
        ends.recordEnd()
      }
    }
    let missing = await ends.wait(atMost: min(deadline, Self.longestTime) + min(timeout, Self.longestTime))
    state.withLock { state in
      state.engines = []
      if missing > 0 { state.lastError = Self.textOfMissing(missing, of: engines.count) }
    }
    return left
  }

  /// A year in ns. Longer times are reduced to a year, so that no sum overflows.
  private static let longestTime: UInt64 = 365 * 86_400 * 1_000_000_000

  /// Nanoseconds after which an engine without a connection checks again whether the open connections are saturated. In
  /// this time, about one round of answers arrives, which is enough to judge the latency.
  private static let growthPause: UInt64 = 100_000_000

  private static func textOfMissing(_ missing: Int, of count: Int) -> String {
    "\(missing) of \(count) connections did not close in time: their pushes in flight are in doubt"
  }

  private func wakeAll() {
    for engine in state.withLock({ $0.engines }) { engine.wake() }
  }
}

extension ConnectionPool: PushSupply {
  func take(upTo count: Int, for engine: Int) -> PushSupplyReply {
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
      state.connections[engine].recordSending(part.range.count, now: now)
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
      if policy.growth == .whenBusy, !state.needsConnection(engine, now: now) { return .wait(Self.growthPause) }
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

  func record(_ event: ConnectionEvent, of engine: Int) {
    if case .credential(let event) = event { return credential.record(event) }
    let now = EventLoop.now
    state.withLock { state in
      let silentSince = state.connections[engine].silentSince
      state.connections[engine].record(event, now: now)
      switch event {
      case .established:
        state.failure = nil
        state.budget.established(now: now)
        state.addresses.established(engine)
      case .pushesLost(let error): state.lastError = error
      case .failed(let error, let accepted):
        state.lastError = error
        state.budget.ended(accepted: accepted)
        state.failure = (since: state.failure?.since ?? silentSince ?? now, reason: error)
        state.budget.failed(now: now, jitter: .random(in: 0..<1))
        state.addresses.failed(engine)
      case .closed(let accepted):
        state.budget.ended(accepted: accepted)
        state.addresses.closed(engine)
      case .opening, .saturated, .credential: break
      }
    }
    guard event == .established else { return }
    credential.record(.accepted)
    // The other engines may open their connections now.
    wakeAll()
  }

  func complete(_ completions: [PushCompletion], by engine: Int, window: Int, times: AnswerTimes) {
    let (isChanged, slowed) = state.withLock { state -> (Bool, [any PushEngine]) in
      state.connections[engine].inFlight -= completions.count
      state.connections[engine].window = window
      state.times.add(times)
      if completions.contains(where: { $0.kind == .answered }) { state.recordAnswer(on: engine, now: EventLoop.now) }
      let openings = state.breaker.openings
      let isChanged = state.breaker.record(completions, of: service)
      if isChanged { state.recordBreaker(now: EventLoop.now) }
      return (isChanged, state.breaker.openings > openings ? state.engines : [])
    }
    for engine in slowed { engine.limitToOnePush() }
    onCompletions(completions)
    // The breaker has changed its state, so each engine must check again whether it may send.
    if isChanged { wakeAll() }
  }
}
