import Dispatch
import EventLoop

/// Client of one Redis server. It has one connection at a time. If a connection is lost, the client opens a new one.
///
/// The first call connects. When the client loses its connection, it repeats attempts to connect with growing, jittered
/// pauses until ``close()``. Calls in flight fail with ``RedisError/mayHaveExecuted`` set. Unsent calls move to the
/// next connection until their wait timeout ends.
///
/// A server may report that it is a replica (`READONLY`, `MASTERDOWN`) or that it is loading its data. The client then
/// closes the connection, because the host name may now lead to another server. If the server was a replica, the client
/// from then on connects only to a server that accepts writes. The caller gets such a report as the answer to its
/// command and must handle it. The client also closes a connection on which Redis requires the password again
/// (`NOAUTH`). The next connection uses the present content of the password file.
///
/// If the URL names sentinels, the client asks them for the primary before every connection, and listens to them. When
/// there is another primary, the client closes the connection to the old primary immediately, even if the old primary
/// hangs and would never answer.
actor ServerClient {
  /// Maximum number of calls that wait for a connection. Each call is a suspended task, and a worker has a few dozen of
  /// them.
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
  /// Whether the next connection must go to a server that accepts writes, because the last server has reported that it
  /// accepts none.
  private var wantsPrimary = false
  private var waiters: [UInt64: Waiter] = [:]
  private var nextID: UInt64 = 0
  private var timer: LoopTimer?
  private var connecting: Task<Void, Never>?
  private let route: PrimaryRoute

  nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }

  /// - Parameters:
  ///   - url: address and login.
  ///   - options: timeouts and backoff.
  ///   - scripts: the scripts to load on every new connection before its first call. Other scripts are loaded at their
  ///     first call.
  ///   - random: the source of jitter.
  ///   - mustBePrimary: whether the server must accept writes.
  ///   - loop: the loop of the client. Calls from an actor on the same loop need not wake a thread.
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

  /// See ``RedisClient/execute(_:timeout:waitTimeout:on:)``.
  func execute(
    _ pipeline: RedisPipeline, timeout: Duration?, waitTimeout: Duration?, on admitted: RedisConnections?
  ) async throws(RedisError) -> [RedisReply] {
    let waitEnd = EventLoop.now + (waitTimeout ?? options.waitTimeout).wholeNanoseconds
    while true {
      let (connection, number) = try await connection(until: waitEnd)
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
        // No byte of the call was sent, so the call may be sent on the next connection.
        guard error.code == .closed, !error.mayHaveExecuted, !isClosed, EventLoop.now < waitEnd else { throw error }
      }
    }
  }

  /// Sends commands on one connection, without a retry on another one. Returns the number of the connection and the
  /// answers.
  func executeOnce(
    _ pipeline: RedisPipeline, timeout: Duration?, waitTimeout: Duration?
  ) async throws(RedisError) -> (UInt64, [RedisReply]) {
    let (connection, number) = try await connection(
      until: EventLoop.now + (waitTimeout ?? options.waitTimeout).wholeNanoseconds)
    return (number, try await connection.execute(pipeline, timeout: timeout))
  }

  /// Number of the present connection; `nil` if there is none.
  var connectionNumber: UInt64? { if case .connected(_, let number) = state { number } else { nil } }

  /// Connects if the client is not connected yet.
  ///
  /// - Returns: the server's `INFO` from the beginning of the connection.
  func connect(waitTimeout: Duration?) async throws(RedisError) -> RedisServerInfo {
    let waitEnd = EventLoop.now + (waitTimeout ?? options.waitTimeout).wholeNanoseconds
    return await (try connection(until: waitEnd)).0.server
  }

  /// Closes the connection and fails all waiting calls. Idempotent. After this call, the client can't be used again.
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

// MARK: - Connecting

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
    connecting = RetryLoop.start(after: delay) { [weak self] in await self?.attempt() ?? nil }
  }

  /// Makes one attempt to connect.
  ///
  /// - Returns: the pause before the next attempt; `nil` if none is needed.
  private func attempt() async -> Duration? {
    do throws(RedisError) {
      let target = try await route.target { [weak self, loop] address in
        loop.execute { [weak self] in self?.assumeIsolated { $0.primaryMoved(to: address) } }
      }
      let connection = try await route.connect(
        to: target, options: options, scripts: scripts, mustBePrimary: wantsPrimary || mustBePrimary, on: loop)
      guard !isClosed else {
        await connection.close()
        return nil
      }
      // The primary may have changed during the attempt.
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

  /// Handles a report of the primary's address.
  private func primaryMoved(to address: RedisAddress) {
    guard route.moves(to: address), case .connected(let connection, _) = state else { return }
    Task { await connection.close(because: "\(address) is the primary now") }
  }

  /// Closes the connection to a server that accepts no writes, is still loading its data, or requires a new login.
  private func leave(_ connection: RedisConnection, _ error: RedisServerError) async {
    // Another call may have closed this connection already, and a new connection may exist.
    guard case .connected(let current, _) = state, current === connection else { return }
    wantsPrimary = wantsPrimary || [.readOnly, .primaryDown, .unblocked].contains(error.code)
    if wantsPrimary { route.doubt() }
    await connection.close(because: "the client left the server after the reply: \(error)")
  }

  private func connectionDied(_ error: RedisError) {
    guard case .connected = state else { return }
    lastError = error
    // When a server restarts, the whole fleet loses its connections at the same moment. Therefore even the first
    // attempt has jitter.
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
    // The waiters are served in the order of the calls, so that their commands are sent in this order.
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
