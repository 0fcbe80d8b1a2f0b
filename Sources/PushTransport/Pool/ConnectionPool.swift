internal import EventLoop
public import PushCore
internal import Synchronization

/// The connections to the service of one credential in one environment, and the pushes that wait for them.
///
/// Batches wait here, by lane, and connections take from them as they have room: what was not taken can still be taken
/// back, and is taken only for as long as the caller may send (``mayTake(until:)``). Unproven batches have a connection of their own besides the others, see ``PushBatch/isUnproven``. While the
/// service answers nearly everything with 503 nothing is taken but one push now and then, see ``CircuitBreaker``. Every
/// push submitted either completes exactly once or is returned by ``cancelBacklog(where:)`` or ``drain(deadline:)``. Safe
/// to use from any thread. Drain a pool before letting it go: until then it keeps itself alive.
public final class ConnectionPool: Sendable {
  /// How a pool is set up.
  public struct Configuration: Sendable {
    /// Where to send.
    public var endpoint: PushEndpoint
    /// Who is there: reads answers, and says what they mean for a connection.
    public var service: any PushService
    /// Connections at most, besides the one for unproven pushes; at least 1.
    public var connections: Int
    /// Streams at most on one connection; what APNs allows once it trusts a connection is 1000.
    public var maximumStreams: Int
    /// Streams at most on the connection for unproven pushes, which has to carry all of them.
    public var unprovenStreams: Int
    /// Streams always used instead of as many as answers allow: what the benchmark compares with.
    package var fixedStreams: Int?
    /// Nanoseconds for one push from start to answer; beyond that it is ambiguous.
    public var requestTimeout: UInt64
    /// Nanoseconds to look up, connect and finish the TLS handshake.
    public var connectTimeout: UInt64
    /// Nanoseconds without a push after which a connection is not used any more, but replaced. After an hour Apple
    /// suggests to find out by PING whether it still works, which libcurl can't; the native engine does, and ignores this.
    public var idleLimit: UInt64
    /// How fast connections may be opened.
    public var reconnect: ReconnectBudget.Limits
    /// When sending is tried again while the service answers 503.
    public var breaker: CircuitBreaker.Limits
    /// What carries pushes.
    public var engine: PushEngineKind

    /// Memberwise, with defaults fit for APNs.
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

    /// The number of the connection for unproven pushes; the others come before it.
    var unprovenNumber: Int { connections }
  }

  fileprivate struct State {
    /// What waits for the connection for unproven pushes, and what waits for the others.
    var unproven = Backlog()
    var backlog = Backlog()
    var budget: ReconnectBudget
    var breaker: CircuitBreaker
    var addresses = AddressSpread()
    var engines: [any PushEngine] = []
    /// Engines that found no work and are to be woken when there is.
    var isIdle: [Bool] = []
    var connections: [ConnectionState] = []
    var isDraining = false
    var lastError: String?
    var times = AnswerTimes()
    /// Until when pushes may be taken, monotonic ns; `nil` for always.
    var mayTakeUntil: UInt64?
    /// When the breaker opened; `nil` while it is closed.
    var breakerOpenSince: UInt64?
    /// When connections began to fail, and how the last did; `nil` from an answer on.
    var failure: (since: UInt64, reason: String)?
  }

  private let credential: any PushCredential
  private let service: any PushService
  private let onCompletions: @Sendable ([PushCompletion]) -> Void
  private let state: Mutex<State>

  /// Opens nothing yet: connections are opened when there is something to send.
  ///
  /// - Parameters:
  ///   - configuration: where to, how many.
  ///   - credential: what the service lets pushes in for; may be shared with other pools.
  ///   - onCompletions: called with what became of pushes, many at a time, on the queue of a connection; of several
  ///     connections at once. It must not block.
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

  /// Adds pushes behind those of their lane.
  ///
  /// - Parameter lane: 0 is served first; a few are expected, not thousands.
  /// - Returns: `false` when the pool is draining: then nothing was taken.
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

  /// Lets connections take pushes until `deadline`, and no longer, unless this is called again with a later one. Without a
  /// call there is no end.
  ///
  /// It is for whoever sends under a lease: a process that was stopped and goes on (SIGSTOP, a suspended machine) has
  /// pushes here that others have sent meanwhile, and connections go on before it can look whether they are still its own.
  ///
  /// - Parameter deadline: monotonic nanoseconds; one that is earlier than an earlier call's changes nothing.
  public func mayTake(until deadline: UInt64) {
    let woken = state.withLock { state -> [any PushEngine] in
      let wasOver = state.isOver(EventLoop.now)
      state.mayTakeUntil = max(state.mayTakeUntil ?? 0, deadline)
      return wasOver ? state.takeIdle(forUnproven: false) + state.takeIdle(forUnproven: true) : []
    }
    for engine in woken { engine.wake() }
  }

  /// Takes back pushes that no connection has taken: of a campaign that was paused, say.
  ///
  /// - Parameter isUnwanted: decides by the push's tag; called under the pool's lock, so it must be quick.
  /// - Returns: the tags taken back; they never complete.
  public func cancelBacklog(where isUnwanted: (UInt64) -> Bool) -> [UInt64] {
    state.withLock { $0.backlog.remove(where: isUnwanted) + $0.unproven.remove(where: isUnwanted) }
  }

  /// Takes back at most `limit` pushes that no connection has taken, because others need their place: of the lowest lane
  /// first, and of a lane those that were submitted last.
  ///
  /// - Parameter isUnwanted: decides by the push's tag; called under the pool's lock, so it must be quick.
  /// - Returns: the tags taken back, in that order; they never complete.
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

  /// Whether the pool is able to send just now. Cheap enough to be asked for every few milliseconds.
  ///
  /// - Parameters:
  ///   - now: monotonic nanoseconds.
  ///   - patience: nanoseconds without an answer after which it is not.
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

  /// Whether the service answers nearly everything with 503, so that nothing is sent but a push now and then.
  public var isBreakerOpen: Bool { state.withLock { $0.breaker.state != .closed } }

  /// What the pool is doing.
  public var published: PoolState {
    state.withLock { $0.published(now: EventLoop.now) }
  }

  /// Lets what is in flight be answered, and closes the connections.
  ///
  /// It returns whatever an engine does: one that hangs is left to itself, and what it has never completes
  /// (``PoolState/lastError`` says so).
  ///
  /// - Parameters:
  ///   - deadline: nanoseconds; what is unanswered by then completes as ambiguous.
  ///   - patience: nanoseconds beyond the deadline in which engines are to end. Closing takes ms; a starved machine needs
  ///     more.
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

  /// Nanoseconds: a year, so that no sum overflows.
  private static let longestTime: UInt64 = 365 * 86_400 * 1_000_000_000

  private static func textOfMissing(_ missing: Int, of count: Int) -> String {
    "\(missing) of \(count) connections did not close in time: what was under way on them is in doubt"
  }

  private func wakeAll() {
    for engine in state.withLock({ $0.engines }) { engine.wake() }
  }
}

extension ConnectionPool.State {
  /// Whether the time is over in which pushes may be taken.
  fileprivate func isOver(_ now: UInt64) -> Bool { mayTakeUntil.map { $0 < now } ?? false }

  fileprivate func hasWork(for engine: Int) -> Bool {
    (connections[engine].isForUnproven ? unproven : backlog).count > 0
  }

  fileprivate mutating func takeIdle(forUnproven: Bool) -> [any PushEngine] {
    var woken: [any PushEngine] = []
    for index in isIdle.indices where isIdle[index] && connections[index].isForUnproven == forUnproven {
      isIdle[index] = false
      woken.append(engines[index])
    }
    return woken
  }

  fileprivate mutating func take(upTo count: Int, for engine: Int) -> PushBatch.Part? {
    connections[engine].isForUnproven ? unproven.take(upTo: count) : backlog.take(upTo: count)
  }

  fileprivate mutating func noteAnswer(on engine: Int, now: UInt64) {
    // Answers of connections that are closed for new pushes tell nothing of the one that is there now.
    if connections[engine].phase != .closed { connections[engine].answeredAt = now }
    failure = nil
  }

  fileprivate mutating func noteBreaker(now: UInt64) {
    breakerOpenSince = breaker.state == .closed ? nil : breakerOpenSince ?? now
  }

  fileprivate func published(now: UInt64) -> PoolState {
    var published = PoolState()
    published.connections = connections
    for index in connections.indices {
      published.connections[index].age = connections[index].openedAt.map { now - $0 }
    }
    published.backlog = backlog.count + unproven.count
    published.lastError = lastError
    published.times = times
    published.breakerOpenings = breaker.openings
    published.breaker = breaker.state
    return published
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
    // The others may open their connections now.
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
    // Whether sending goes on or waits, and until when, is asked by whoever has something to send.
    if isNews { wakeAll() }
  }
}

extension CircuitBreaker {
  /// Takes note of many ends at once.
  ///
  /// - Returns: whether the state has changed.
  fileprivate mutating func note(_ completions: [PushCompletion], of service: any PushService) -> Bool {
    var isNews = false
    var clock: (now: UInt64, jitter: Double)?
    for completion in completions {
      let signal = Signal(completion.answer, of: service)
      // Time and chance cost a system call, and matter only when it opens.
      if signal != .answered, clock == nil { clock = (EventLoop.now, .random(in: 0..<1)) }
      if note(signal, tag: completion.tag, now: clock?.now ?? 0, jitter: clock?.jitter ?? 0) { isNews = true }
    }
    return isNews
  }
}
