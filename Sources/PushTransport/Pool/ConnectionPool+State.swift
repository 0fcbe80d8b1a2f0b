internal import EventLoop
internal import PushCore

extension ConnectionPool.State {
  /// Returns whether ``mayTakeUntil`` has passed, so that connections may not take pushes.
  func isOver(_ now: UInt64) -> Bool { mayTakeUntil.map { $0 < now } ?? false }

  func hasWork(for engine: Int) -> Bool {
    (connections[engine].isForUnproven ? unproven : backlog).count > 0
  }

  /// Returns whether the pool needs another connection, because every open connection is saturated or gets no answers.
  func needsConnection(_ engine: Int, now: UInt64) -> Bool {
    connections.indices.allSatisfy { index in
      let other = connections[index]
      guard index != engine, other.phase != .closed, !other.isForUnproven else { return true }
      return other.isSaturated || other.silentSince.map { now >= $0 + PoolHealth.timeout } ?? false
    }
  }

  mutating func takeIdle(forUnproven: Bool) -> [any PushEngine] {
    var woken: [any PushEngine] = []
    for index in isIdle.indices where isIdle[index] && connections[index].isForUnproven == forUnproven {
      isIdle[index] = false
      woken.append(engines[index])
    }
    return woken
  }

  mutating func take(upTo count: Int, for engine: Int) -> PushBatch.Part? {
    connections[engine].isForUnproven ? unproven.take(upTo: count) : backlog.take(upTo: count)
  }

  mutating func recordAnswer(on engine: Int, now: UInt64) {
    // An answer on a connection that takes no more pushes does not show that the present connection works.
    if connections[engine].phase != .closed { connections[engine].answeredAt = now }
    failure = nil
    waitingSince = nil
  }

  mutating func recordBreaker(now: UInt64) {
    breakerOpenSince = breaker.state == .closed ? nil : breakerOpenSince ?? now
  }

  func published(now: UInt64) -> PoolState {
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

extension CircuitBreaker {
  /// Records the results of many pushes.
  ///
  /// - Returns: whether the state changed.
  mutating func record(_ completions: [PushCompletion], of service: any PushService) -> Bool {
    var isChanged = false
    var clock: (now: UInt64, jitter: Double)?
    for completion in completions {
      let signal = Signal(completion.answer, of: service)
      // Reads the time and a random number only if the breaker may open, because both cost a system call.
      if signal != .answered, clock == nil { clock = (EventLoop.now, .random(in: 0..<1)) }
      if record(signal, tag: completion.tag, now: clock?.now ?? 0, jitter: clock?.jitter ?? 0) { isChanged = true }
    }
    return isChanged
  }
}
