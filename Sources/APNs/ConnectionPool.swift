internal import EventLoop
internal import PushCore
internal import Synchronization

/// The connections to APNs of one credential in one environment, and the pushes that wait for them.
///
/// Batches wait here, by lane, and connections take from them as they have room: what was not taken can still be taken
/// back. Every push submitted either completes exactly once or is returned by ``cancelBacklog(where:)`` or
/// ``drain(deadline:)``. Safe to use from any thread. Drain a pool before letting it go: until then it keeps itself
/// alive.
public final class ConnectionPool: Sendable {
  /// How a pool is set up.
  public struct Configuration: Sendable {
    /// Where to send.
    public var endpoint: APNsEndpoint
    /// Connections at most; at least 1.
    public var connections: Int
    /// Streams at most on one connection: what APNs allows once it trusts a connection.
    public var maximumStreams: Int
    /// Streams always used instead of as many as answers allow: what ``EngineBenchmark`` compares with.
    var fixedStreams: Int?
    /// Nanoseconds for one push from start to answer; beyond that it is ambiguous.
    public var requestTimeout: UInt64
    /// Nanoseconds to look up, connect and shake hands.
    public var connectTimeout: UInt64
    /// How fast connections may be opened.
    public var reconnect: ReconnectBudget.Limits

    /// Memberwise, with defaults fit for Apple's servers.
    public init(
      endpoint: APNsEndpoint, connections: Int = 2, maximumStreams: Int = 1000,
      requestTimeout: UInt64 = 30_000_000_000, connectTimeout: UInt64 = 10_000_000_000,
      reconnect: ReconnectBudget.Limits = .init()
    ) {
      self.endpoint = endpoint
      self.connections = max(1, connections)
      self.maximumStreams = max(1, maximumStreams)
      self.requestTimeout = requestTimeout
      self.connectTimeout = connectTimeout
      self.reconnect = reconnect
    }
  }

  fileprivate struct State {
    var backlog = Backlog()
    var budget: ReconnectBudget
    var engines: [any PushEngine] = []
    /// Engines that found no work and are to be woken when there is.
    var isIdle: [Bool] = []
    var isEstablished: [Bool] = []
    var isDraining = false
    var published = PoolState()
  }

  private let credential: any PushCredential
  private let onCompletions: @Sendable ([PushCompletion]) -> Void
  private let state: Mutex<State>

  /// Opens nothing yet: connections are opened when there is something to send.
  ///
  /// - Parameters:
  ///   - configuration: where to, how many.
  ///   - credential: what APNs lets pushes in for; may be shared with other pools.
  ///   - onCompletions: called with what became of pushes, many at a time, on the queue of a connection; of several
  ///     connections at once. It must not block.
  public convenience init(
    configuration: Configuration, credential: any PushCredential,
    onCompletions: @escaping @Sendable ([PushCompletion]) -> Void
  ) {
    self.init(configuration: configuration, credential: credential, onCompletions: onCompletions) { number, pool in
      CurlEngine(number: number, configuration: configuration, supply: pool)
    }
  }

  init(
    configuration: Configuration, credential: any PushCredential,
    onCompletions: @escaping @Sendable ([PushCompletion]) -> Void,
    makeEngine: (Int, any PushSupply) -> any PushEngine
  ) {
    self.credential = credential
    self.onCompletions = onCompletions
    state = Mutex(State(budget: ReconnectBudget(limits: configuration.reconnect, now: EventLoop.now)))
    let engines = (0..<configuration.connections).map { makeEngine($0, self) }
    state.withLock { state in
      state.engines = engines
      state.isIdle = engines.map { _ in true }
      state.isEstablished = engines.map { _ in false }
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
      state.backlog.append(batch, lane: lane)
      return state.takeIdle()
    }
    guard let idle else { return false }
    for engine in idle { engine.wake() }
    return true
  }

  /// Takes back pushes that no connection has taken: of a campaign that was paused, say.
  ///
  /// - Parameter isUnwanted: decides by the push's tag; called under the pool's lock, so it must be quick.
  /// - Returns: the tags taken back; they never complete.
  public func cancelBacklog(where isUnwanted: (UInt64) -> Bool) -> [UInt64] {
    state.withLock { $0.backlog.remove(where: isUnwanted) }
  }

  /// What the pool is doing.
  public var published: PoolState {
    state.withLock { state in
      var published = state.published
      published.backlog = state.backlog.count
      published.open = state.isEstablished.count { $0 }
      return published
    }
  }

  /// Lets what is in flight be answered, and closes the connections.
  ///
  /// - Parameter deadline: nanoseconds; what is unanswered by then completes as ambiguous.
  /// - Returns: the tags of pushes that no connection had taken; they never complete.
  public func drain(deadline: UInt64) async -> [UInt64] {
    let (engines, left) = state.withLock { state in
      state.isDraining = true
      return (state.engines, state.backlog.remove { _ in true })
    }
    await withTaskGroup(of: Void.self) { group in
      for engine in engines { group.addTask { await engine.drain(deadline: deadline) } }
    }
    state.withLock { $0.engines = [] }
    return left
  }

  private func wakeAll() {
    for engine in state.withLock({ $0.engines }) { engine.wake() }
  }
}

extension ConnectionPool.State {
  fileprivate mutating func takeIdle() -> [any PushEngine] {
    guard isIdle.contains(true) else { return [] }
    defer { for index in isIdle.indices { isIdle[index] = false } }
    return zip(engines, isIdle).filter(\.1).map(\.0)
  }
}

extension ConnectionPool: PushSupply {
  func take(upTo count: Int, for engine: Int) -> PushBatch.Part? {
    state.withLock { state in
      guard let part = state.backlog.take(upTo: count) else {
        state.isIdle[engine] = true
        return nil
      }
      state.published.inFlight += part.range.count
      return part
    }
  }

  func authorization() -> PushAuthorization? { credential.authorization() }

  var stopped: Reason? { credential.stopped }

  func mayOpen(_ engine: Int) -> ReconnectBudget.Decision? {
    state.withLock { state in
      guard state.backlog.count > 0 else {
        state.isIdle[engine] = true
        return nil
      }
      return state.budget.request(now: EventLoop.now, jitter: .random(in: 0..<1))
    }
  }

  func note(_ event: ConnectionEvent, of engine: Int) {
    switch event {
    case .opening: state.withLock { $0.published.openings += 1 }
    case .established:
      state.withLock { state in
        state.isEstablished[engine] = true
        state.budget.established(now: EventLoop.now)
      }
      credential.note(.accepted)
      // The others may open their connections now.
      wakeAll()
    case .trouble(let error): state.withLock { $0.published.lastError = error }
    case .failed(let error):
      state.withLock { state in
        state.isEstablished[engine] = false
        state.published.failures += 1
        state.published.lastError = error
        state.budget.failed(now: EventLoop.now, jitter: .random(in: 0..<1))
      }
    case .closed: state.withLock { $0.isEstablished[engine] = false }
    case .credential(let event): credential.note(event)
    }
  }

  func complete(_ completions: [PushCompletion], by engine: Int) {
    state.withLock { $0.published.inFlight -= completions.count }
    onCompletions(completions)
  }
}
