import Dispatch
import EventLoop

/// One Redis server, by way of one connection at a time: a dead connection is replaced, never used again.
///
/// The first call connects. After that it keeps a connection, and when it loses it, it tries again and again, with
/// growing, jittered pauses, until ``close()``. Calls that were in flight fail with ``RedisError/mayHaveExecuted`` set;
/// calls of which nothing was sent are carried over to the next connection while their patience lasts.
///
/// A server that says that it is a replica (`READONLY`, `MASTERDOWN`) or loads its data is left: behind the same name there
/// may be another by now. From then on only one that takes writes will do, until there is one. The refusals are answers all
/// the same; who asked decides what becomes of the call. So is a connection on which Redis asks for the password anew
/// (`NOAUTH`): the next one logs in with what is in the password file then.
///
/// Where the URL names sentinels, they are asked for the primary before every connection, and listened to: when there is
/// another primary, the connection to the one before is closed at once, also when that hangs and would never say a word.
/// Its properties are how it was set up, where it stands, and who waits for a connection.
actor ServerClient {
  /// Bounds the calls that wait for a connection; each is a suspended task of ours, and a worker has some dozens.
  static let maximumWaiting = 65_536

  private enum State {
    case idle
    case connecting
    case connected(RedisConnection, number: UInt64)
    case closed
  }

  private struct Waiter {
    var deadline: UInt64
    var continuation: CheckedContinuation<Result<(RedisConnection, UInt64), RedisError>, Never>
  }

  nonisolated let url: RedisURL
  private let options: RedisOptions
  private let scripts: [RedisScript]
  private let mustBePrimary: Bool
  private let loop: EventLoop
  private var random: any RandomNumberGenerator & Sendable
  private var state = State.idle
  private var failedAttempts = 0
  private var lastError: RedisError?
  /// Whether a server has said that it takes no writes, and no other has been found yet.
  private var wantsPrimary = false
  private var waiters: [UInt64: Waiter] = [:]
  private var nextID: UInt64 = 0
  private var timer: LoopTimer?
  private var connecting: Task<Void, Never>?
  private let route: PrimaryRoute

  nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }

  /// - Parameters:
  ///   - url: where to, and as whom.
  ///   - options: timeouts, patience, backoff.
  ///   - scripts: loaded on every new connection before its first call; others when they are first called.
  ///   - random: the source of jitter.
  ///   - mustBePrimary: whether only a server that takes writes will do.
  ///   - loop: where it lives. Calls from an actor on the same loop need no thread to be woken.
  init(
    url: RedisURL, options: RedisOptions, scripts: [RedisScript], random: any RandomNumberGenerator & Sendable,
    mustBePrimary: Bool = false, on loop: EventLoop
  ) {
    self.mustBePrimary = mustBePrimary
    self.url = url
    self.options = options
    self.scripts = scripts
    self.random = random
    self.loop = loop
    route = PrimaryRoute(url, options: options)
  }

  /// See ``RedisClient/execute(_:timeout:patience:on:)``.
  func execute(
    _ pipeline: RedisPipeline, timeout: Duration?, patience: Duration?, on admitted: RedisConnections?
  ) async throws(RedisError) -> [RedisReply] {
    let patienceEnd = EventLoop.now + (patience ?? options.patience).wholeNanoseconds
    while true {
      let (connection, number) = try await connection(until: patienceEnd)
      if let admitted, !admitted.contains(number) {
        throw RedisError(
          .reconnected, "the connection was replaced", endpoint: url.endpoint, hint: Hint.none)
      }
      do {
        let replies = try await connection.execute(pipeline, timeout: timeout)
        if let error = replies.lazy.compactMap(\.error).first(where: \.isOfConnection) {
          await leave(connection, error)
        }
        return replies
      } catch {
        // Nothing of it was sent, so the next connection may have it.
        guard error.code == .closed, !error.mayHaveExecuted, !isClosed, EventLoop.now < patienceEnd else { throw error }
      }
    }
  }

  /// Sends commands for one connection alone, whichever it is, and says which.
  func look(
    _ pipeline: RedisPipeline, timeout: Duration?, patience: Duration?
  ) async throws(RedisError) -> (UInt64, [RedisReply]) {
    let (connection, number) = try await connection(
      until: EventLoop.now + (patience ?? options.patience).wholeNanoseconds)
    return (number, try await connection.execute(pipeline, timeout: timeout))
  }

  /// The number of the connection there is now; `nil` while there is none.
  var connectionNumber: UInt64? { if case .connected(_, let number) = state { number } else { nil } }

  /// Connects, if it has not happened yet.
  ///
  /// - Returns: what the server said of itself when the connection was made.
  func connect(patience: Duration?) async throws(RedisError) -> RedisServerInfo {
    let patienceEnd = EventLoop.now + (patience ?? options.patience).wholeNanoseconds
    return await (try connection(until: patienceEnd)).0.server
  }

  /// Ends the connection and everything that waits. Idempotent; the client can't be used again.
  func close(because reason: String? = nil) async {
    guard !isClosed else { return }
    let last = state
    state = .closed
    connecting?.cancel()
    failWaiters(closedError)
    await route.close()
    if case .connected(let connection, _) = last { await connection.close(because: reason) }
  }
}

// MARK: - Keeping a connection

extension ServerClient {
  private var isClosed: Bool { if case .closed = state { true } else { false } }

  private var closedError: RedisError {
    RedisError(.closed, "the client is closed", endpoint: url.endpoint, hint: Hint.none)
  }

  private func connection(until deadline: UInt64) async throws(RedisError) -> (RedisConnection, UInt64) {
    switch state {
    case .connected(let connection, let number): return (connection, number)
    case .closed: throw closedError
    case .idle: startConnecting(after: .zero)
    case .connecting: if let lastError, lastError.isPermanent { throw lastError }
    }
    guard deadline > EventLoop.now else { throw notConnected }
    guard waiters.count < Self.maximumWaiting else {
      throw RedisError(
        .overloaded, "\(waiters.count) calls wait for a connection already", endpoint: url.endpoint, hint: Hint.address)
    }
    let id = nextID
    nextID += 1
    let result: Result<(RedisConnection, UInt64), RedisError> = await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        waiters[id] = Waiter(deadline: deadline, continuation: continuation)
        armTimer()
      }
    } onCancel: {
      loop.execute { [weak self] in self?.assumeIsolated { $0.abandon(id) } }
    }
    return try result.get()
  }

  private func startConnecting(after delay: Duration) {
    state = .connecting
    connecting = Task { [weak self] in
      var pause: Duration? = delay
      while let wait = pause {
        if wait > .zero { try? await Task.sleep(for: wait) }
        if Task.isCancelled { return }
        pause = await self?.attempt() ?? nil
      }
    }
  }

  /// Tries once to connect.
  ///
  /// - Returns: how long to wait before the next attempt, `nil` when none is needed.
  private func attempt() async -> Duration? {
    do throws(RedisError) {
      let target = try await route.target { [weak self, loop] address in
        loop.execute { [weak self] in self?.assumeIsolated { $0.heard(of: address) } }
      }
      let connection = try await connect(to: target)
      guard !isClosed else {
        await connection.close()
        return nil
      }
      // There may be another primary meanwhile.
      guard route.isCurrent(target) else {
        await connection.close()
        return .zero
      }
      let number = RedisConnections.nextNumber()
      state = .connected(connection, number: number)
      failedAttempts = 0
      wantsPrimary = false
      lastError = nil
      await connection.whenDead { [weak self] error in self?.assumeIsolated { $0.connectionDied(error) } }
      guard case .connected = state else { return nil }
      for waiter in takeWaiters() { waiter.continuation.resume(returning: .success((connection, number))) }
      return nil
    } catch {
      guard !isClosed else { return nil }
      lastError = error
      if error.isPermanent { failWaiters(error) }
      defer { failedAttempts += 1 }
      return options.backoff.delay(attempt: failedAttempts, using: &random)
    }
  }

  private func connect(to target: RedisURL) async throws(RedisError) -> RedisConnection {
    do throws(RedisError) {
      return try await RedisConnection.connect(
        to: target, options: options, scripts: scripts,
        isPrimary: wantsPrimary || mustBePrimary || route.isOfPrimary, on: loop)
    } catch {
      route.doubt()
      throw error
    }
  }

  /// It was heard where the primary is.
  private func heard(of address: RedisAddress) {
    guard route.moves(to: address), case .connected(let connection, _) = state else { return }
    Task { await connection.close(because: "\(address) is the primary now") }
  }

  /// Leaves a server that is not, or not yet, the one to ask.
  private func leave(_ connection: RedisConnection, _ error: RedisServerError) async {
    // Others' calls may have found it out before, and another connection may be there by now.
    guard case .connected(let current, _) = state, current === connection else { return }
    wantsPrimary = wantsPrimary || [.readOnly, .primaryDown, .unblocked].contains(error.code)
    if wantsPrimary { route.doubt() }
    await connection.close(because: "the server was left after it said: \(error)")
  }

  private func connectionDied(_ error: RedisError) {
    guard case .connected = state else { return }
    lastError = error
    // A server that restarts loses its whole fleet at one moment: even the first attempt is jittered.
    startConnecting(after: options.backoff.delay(attempt: 0, using: &random))
  }
}

// MARK: - Waiting for a connection

extension ServerClient {
  private var notConnected: RedisError {
    let hint = url.isTLS ? "\(Hint.speaksTLS) Else: \(Hint.address)" : Hint.address
    var error = lastError ?? RedisError(.connectTimeout, "no connection yet", endpoint: url.endpoint, hint: hint)
    error.mayHaveExecuted = false
    return error
  }

  private func takeWaiters() -> [Waiter] {
    defer { waiters = [:] }
    // In the order of the calls, so that it is kept on the wire.
    return waiters.sorted { $0.key < $1.key }.map(\.value)
  }

  private func failWaiters(_ error: RedisError) {
    for waiter in takeWaiters() { waiter.continuation.resume(returning: .failure(error)) }
  }

  private func abandon(_ id: UInt64) {
    guard let waiter = waiters.removeValue(forKey: id) else { return }
    waiter.continuation.resume(
      returning: .failure(
        RedisError(.cancelled, "the call was cancelled", endpoint: url.endpoint, hint: Hint.none)))
  }

  private func timerFired() {
    let now = EventLoop.now
    for (id, waiter) in waiters where waiter.deadline <= now {
      waiters[id] = nil
      waiter.continuation.resume(returning: .failure(notConnected))
    }
    armTimer()
  }

  private func armTimer() {
    guard let earliest = waiters.values.lazy.map(\.deadline).min() else { return }
    let timer = timer ?? LoopTimer(on: loop) { [weak self] in self?.assumeIsolated { $0.timerFired() } }
    self.timer = timer
    let now = EventLoop.now
    timer.schedule(after: .nanoseconds(earliest > now ? Int(clamping: earliest - now) : 0))
  }
}
