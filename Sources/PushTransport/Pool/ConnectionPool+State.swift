internal import EventLoop
internal import PushCore

extension ConnectionPool.State {
  /// Whether the time is over in which pushes may be taken.
  func isOver(_ now: UInt64) -> Bool { mayTakeUntil.map { $0 < now } ?? false }

  func hasWork(for engine: Int) -> Bool {
    (connections[engine].isForUnproven ? unproven : backlog).count > 0
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

  mutating func noteAnswer(on engine: Int, now: UInt64) {
    // Answers of connections that are closed for new pushes tell nothing of the one that is there now.
    if connections[engine].phase != .closed { connections[engine].answeredAt = now }
    failure = nil
  }

  mutating func noteBreaker(now: UInt64) {
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
  /// Takes note of many ends at once.
  ///
  /// - Returns: whether the state has changed.
  mutating func note(_ completions: [PushCompletion], of service: any PushService) -> Bool {
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
