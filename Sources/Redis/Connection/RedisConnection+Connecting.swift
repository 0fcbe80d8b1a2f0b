import Dispatch
public import EventLoop
import TLS

/// Connecting: name lookup, TCP connection, TLS handshake, login and loading of scripts.
extension RedisConnection {
  /// Connects, logs in, selects the database and loads the scripts. The password, the certificate and the trust roots
  /// are read from their files.
  ///
  /// - Parameters:
  ///   - url: address and login; the first address is used.
  ///   - options: timeouts, name and files. The wait timeout and the backoff are not used here.
  ///   - scripts: the scripts to load before the first call. Other scripts are loaded at their first call.
  ///   - isPrimary: whether the server must be a primary; then an address is skipped if its server is not a primary. A
  ///     server that does not report its role counts as a primary.
  ///   - loop: the loop of the connection.
  public static func connect(
    to url: RedisURL, options: RedisOptions = RedisOptions(), scripts: [RedisScript] = [], isPrimary: Bool = false,
    on loop: EventLoop = EventLoop(label: "redis")
  ) async throws(RedisError) -> RedisConnection {
    let target = try await Target(url, options)
    do throws(RedisError) {
      return try await connect(by: target, scripts: scripts, isPrimary: isPrimary, on: loop)
    } catch {
      // The password file may have changed after it was read. The login fails only if the file still contains the
      // refused password.
      guard error.code == .authentication, options.passwordFile != nil else { throw error }
      let again = try await Target(url, options)
      guard again.files.password != target.files.password else { throw error }
      return try await connect(by: again, scripts: scripts, isPrimary: isPrimary, on: loop)
    }
  }

  private static func connect(
    by target: Target, scripts: [RedisScript], isPrimary: Bool, on loop: EventLoop
  ) async throws(RedisError) -> RedisConnection {
    let (url, addresses) = (target.url, target.addresses)
    let deadline = EventLoop.now + target.options.connectTimeout.wholeNanoseconds
    var failure: RedisError?
    for (index, address) in addresses.enumerated() {
      // The addresses share the remaining time. If an address drops packets, time is left for the others.
      let now = EventLoop.now
      let share = (max(deadline, now) - now) / UInt64(addresses.count - index)
      let connection = RedisConnection(
        endpoint: url.endpoint, answerTimeout: target.options.answerTimeout, tls: target.files.tls, loop: loop)
      failure = await connection.open(address, deadline: now + share)
      guard failure == nil else { continue }
      try await connection.performHandshake(with: target, scripts: scripts, deadline: deadline)
      guard isPrimary, let role = await connection.server.role, role != .master else { return connection }
      await connection.close()
      failure = RedisError(
        .notReady, "it is a \(role == .replica ? "replica" : "sentinel"), which accepts no writes",
        endpoint: url.endpoint,
        hint: "Wait until the failover is over, or point the URL at the primary.")
    }
    throw failure ?? RedisError(.unknownHost, "the host has no address", endpoint: url.endpoint, hint: Hint.address)
  }

  /// Addresses and login for one attempt to connect, as the name service and the files contain them now.
  private struct Target: Sendable {
    var url: RedisURL
    var options: RedisOptions
    var addresses: [SocketAddress]
    var files: ConnectionFiles

    /// Asks the name service and reads the files, on a queue whose threads may block.
    init(_ url: RedisURL, _ options: RedisOptions) async throws(RedisError) {
      let result: Result<Target, RedisError> = await withCheckedContinuation { continuation in
        DispatchQueue.global().async {
          continuation.resume(returning: Result { () throws(RedisError) in try Target(blocking: url, options) })
        }
      }
      self = try result.get()
    }

    private init(blocking url: RedisURL, _ options: RedisOptions) throws(RedisError) {
      self.url = url
      self.options = options
      files = try ConnectionFiles(url: url, options: options)
      do {
        addresses = try SocketAddress.resolve(host: url.addresses[0].host, port: url.addresses[0].port)
      } catch {
        throw RedisError(.unknownHost, "\(error)", endpoint: url.endpoint, hint: Hint.address)
      }
    }
  }

  private func open(_ address: SocketAddress, deadline: UInt64) async -> RedisError? {
    do {
      let socket = try Socket.connect(to: address)
      let watcher = SocketWatcher(
        socket, on: loop, onReadable: { [weak self] in self?.assumeIsolated { $0.readable() } },
        onWritable: { [weak self] in self?.assumeIsolated { $0.writable() } })
      // Wait only until the socket is writable, which shows that the connection attempt has ended (connect(2),
      // EINPROGRESS).
      watcher.wantsRead = false
      watcher.wantsWrite = true
      self.watcher = watcher
      self.socket = socket
      stream = try tls.map { try TLSStream(socket, context: $0.context, serverName: $0.serverName) } ?? socket
    } catch {
      return refusal(error)
    }
    timer = LoopTimer(on: loop) { [weak self] in self?.assumeIsolated { $0.timerFired() } }
    return await withCheckedContinuation { continuation in
      phase = .connecting(continuation)
      arm(deadline)
    }
  }

  func connected(_ continuation: CheckedContinuation<RedisError?, Never>) {
    if let error = socket?.connectionError() { return die(refusal(error)) }
    phase = .handshaking(continuation)
    advanceHandshake(continuation)
  }

  /// Continues the TLS handshake of the stream. Plain TCP has none.
  func advanceHandshake(_ continuation: CheckedContinuation<RedisError?, Never>) {
    do {
      let step = try stream?.handshake()
      watcher?.wantsWrite = step == .wantsWrite
      watcher?.wantsRead = step != .wantsWrite
      if step == .closed { return peerClosed() }
      guard step == nil else { return }
      phase = .open
      continuation.resume(returning: nil)
    } catch let error as TLSError {
      die(RedisError(tls: error, with: tls?.serverName ?? "", endpoint: endpoint))
    } catch {
      die(lost("\(error)"))
    }
  }

  private func performHandshake(with target: Target, scripts: [RedisScript], deadline: UInt64) async throws(RedisError)
  {
    do throws(RedisError) {
      let handshake = Handshake(
        url: target.url, password: target.files.password, clientName: target.options.clientName)
      let replies = try await send(handshake.pipeline.bytes, replies: handshake.pipeline.count, deadline: deadline)
      server = try handshake.check(replies)
      try await load(scripts, deadline: deadline)
    } catch {
      var failure = error
      // With TLS 1.3, the server checks the client certificate last, so the connection may die before the first
      // command. The error of the connection's death is then more helpful.
      if case .dead(let cause) = phase { failure = cause }
      failure.mayHaveExecuted = false
      if failure.code == .answerTimeout {
        failure.code = .connectTimeout
        failure.message = "the connection was made, but Redis did not answer in time"
      }
      if [.closed, .connectTimeout, .protocolViolation].contains(failure.code), tls == nil {
        failure.hint += " If that port speaks TLS, write rediss://."
      }
      die(failure)
      throw failure
    }
  }

  func load(_ scripts: [RedisScript], deadline: UInt64) async throws(RedisError) {
    guard !scripts.isEmpty else { return }
    let pipeline = ScriptCache.loading(scripts, into: server.version)
    let replies = try await send(pipeline.bytes, replies: pipeline.count, deadline: deadline)
    try self.scripts.record(replies, for: scripts, endpoint: endpoint)
  }

  private func refusal(_ error: any Error) -> RedisError {
    RedisError(.connectionRefused, "\(error)", endpoint: endpoint, hint: Hint.address)
  }
}
