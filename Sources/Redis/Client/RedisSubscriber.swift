import Dispatch
public import EventLoop

/// Subscriber to channels of Redis. It has one connection at a time, and replaces a lost one with growing, jittered
/// pauses until ``close()``.
///
/// Messages that are published while the subscriber is not connected are lost, because Redis does not store messages.
/// The owner must therefore not rely on messages alone: it must read the state that they announce from time to time,
/// and after each new subscription.
///
/// Source: Redis Pub/Sub, "Delivery semantics": at most once.
public actor RedisSubscriber {
  /// Event that the subscriber delivers to its owner, on its loop.
  public enum Event: Sendable {
    /// From now on, messages arrive. Messages that were published before are lost.
    case listening
    /// The connection is lost. No message arrives until the next ``listening``.
    case lost(RedisError)
    /// A message.
    case message(channel: RedisReply, text: RedisReply)
  }

  /// Interval at which the subscriber checks whether a connection without messages still works.
  private static let pingInterval = DispatchTimeInterval.seconds(10)

  private let route: PrimaryRoute
  private let options: RedisOptions
  private let channels: [String]
  private let loop: EventLoop
  private let handler: @Sendable (Event) -> Void
  private var connection: RedisConnection?
  private var failedAttempts = 0
  private var random = SystemRandomNumberGenerator()
  private var pings: LoopTimer?
  private var connecting: Task<Void, Never>?
  private var isClosed = false

  public nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }

  init(
    url: RedisURL, options: RedisOptions, channels: [String], on loop: EventLoop,
    handler: @escaping @Sendable (Event) -> Void
  ) {
    route = PrimaryRoute(url, options: options)
    self.options = options
    self.channels = channels
    self.loop = loop
    self.handler = handler
  }

  /// Starts the subscription. Returns when the subscription works, or when the first attempt has failed. Further
  /// attempts follow automatically.
  public func start() async {
    guard connecting == nil, !isClosed else { return }
    if let pause = await attempt() { startConnecting(after: pause) }
  }

  /// Ends the subscription. Idempotent. After this call, the subscriber can't be used again.
  public func close() async {
    isClosed = true
    connecting?.cancel()
    pings?.disarm()
    let last = connection
    connection = nil
    await route.close()
    await last?.close()
  }

  private func startConnecting(after delay: Duration) {
    connecting = RetryLoop.start(after: delay) { [weak self] in await self?.attempt() ?? nil }
  }

  /// Makes one attempt to subscribe.
  ///
  /// - Returns: the pause before the next attempt; `nil` if none is needed.
  private func attempt() async -> Duration? {
    do throws(RedisError) {
      let target = try await route.target { [weak self, loop] address in
        loop.execute { [weak self] in self?.assumeIsolated { $0.primaryMoved(to: address) } }
      }
      let connection = try await route.connect(to: target, options: options, on: loop)
      for channel in channels {
        try await connection.subscribe(to: channel) { [weak self] message in
          self?.assumeIsolated { $0.handler(.message(channel: message[1], text: message[2])) }
        }
      }
      guard !isClosed else {
        await connection.close()
        return nil
      }
      // The primary may have changed during the attempt.
      guard route.isCurrent(target) else {
        await connection.close()
        return .zero
      }
      self.connection = connection
      failedAttempts = 0
      handler(.listening)
      await connection.whenDead { [weak self] error in self?.assumeIsolated { $0.connectionDied(error) } }
      let pings = pings ?? LoopTimer(on: loop) { [weak self] in self?.assumeIsolated { $0.ping() } }
      self.pings = pings
      pings.schedule(every: Self.pingInterval)
      return nil
    } catch {
      guard !isClosed else { return nil }
      handler(.lost(error))
      defer { failedAttempts += 1 }
      return options.backoff.delay(attempt: failedAttempts, using: &random)
    }
  }

  /// Handles a report of the primary's address: closes the connection to the previous primary. That server may still
  /// deliver messages, but clients no longer publish there.
  private func primaryMoved(to address: RedisAddress) {
    guard route.moves(to: address), let connection else { return }
    Task { await connection.close(because: "\(address) is the primary now") }
  }

  private func connectionDied(_ error: RedisError) {
    guard !isClosed else { return }
    connection = nil
    pings?.disarm()
    handler(.lost(error))
    startConnecting(after: options.backoff.delay(attempt: 0, using: &random))
  }

  private func ping() {
    guard let connection else { return }
    // If the connection no longer works, the failed PING closes it.
    Task { try? await connection.ping() }
  }
}

extension RedisClient {
  /// Returns a subscriber with the same URL and login as this client; the caller must start it.
  ///
  /// - Parameters:
  ///   - channels: the names of the channels.
  ///   - loop: the loop of the subscriber; the handler is called there.
  ///   - handler: called with messages, and when the subscription begins or is lost.
  public nonisolated func subscriber(
    to channels: [String], on loop: EventLoop, handler: @escaping @Sendable (RedisSubscriber.Event) -> Void
  ) -> RedisSubscriber {
    var options = options
    options.clientName += " listening"
    return RedisSubscriber(url: url, options: options, channels: channels, on: loop, handler: handler)
  }
}
