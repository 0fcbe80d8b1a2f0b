import Dispatch
import EventLoop

/// Monitor that asks sentinels for a primary, and subscribes to their messages. All clients of the process share one
/// monitor for each primary.
///
/// ``PrimarySearch`` decides; this actor executes its actions.
actor SentinelMonitor {
  private struct Key: Hashable {
    var sentinels: [RedisAddress]
    var name: String
    var options: SentinelOptions
  }

  private static let monitors = SharedMonitors<Key, SentinelMonitor>()

  /// Returns the monitor of a primary and its sentinels.
  static func shared(sentinels: [RedisAddress], name: String, options: SentinelOptions) -> SentinelMonitor {
    monitors.monitor(Key(sentinels: sentinels, name: name, options: options)) {
      SentinelMonitor(sentinels: sentinels, name: name, options: options)
    }
  }

  private let loop = EventLoop(label: "sentinel")
  private let name: String
  private let options: SentinelOptions
  private var search: PrimarySearch
  private var session: SentinelSession?
  /// Number of the present session. It distinguishes the end of an earlier session from the end of this one.
  private var sessions = 0
  private var timer: LoopTimer?
  private var audience = WatchAudience<RedisAddress>()

  nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }

  private init(sentinels: [RedisAddress], name: String, options: SentinelOptions) {
    self.name = name
    self.options = options
    search = PrimarySearch(sentinels: sentinels)
  }

  /// Returns the present address of the primary.
  ///
  /// - Parameter doubted: an address that was reported as the primary's, but whose server is not a primary.
  func primary(doubting doubted: RedisAddress? = nil) async throws(RedisError) -> RedisAddress {
    let result: Result<RedisAddress, RedisError> = await withCheckedContinuation { continuation in
      audience.add(waiter: continuation)
      handle(doubted.map { .suspected($0) } ?? .wanted)
    }
    return try result.get()
  }

  /// Calls `listener` for each report of the primary's address until ``remove(_:)``.
  func add(_ listener: @escaping @Sendable (RedisAddress) -> Void) -> UInt64 { audience.add(listener) }

  /// Removes a listener. If no listener is left, the monitor asks no sentinel until a caller needs the primary.
  func remove(_ listener: UInt64) async {
    audience.remove(listener)
    guard audience.isEmpty else { return }
    timer?.disarm()
    await endSession()
  }

  private func handle(_ event: PrimarySearch.Event) {
    for action in search.handle(event) {
      switch action {
      case .ask(let sentinel): Task { [weak self] in await self?.ask(sentinel) }
      case .found(let address): audience.succeed(address)
      case .notFound: audience.fail("no sentinel has answered", prefix: "no sentinel knows the address of \(name)")
      case .wait: if audience.isEmpty { Task { await endSession() } } else { wait() }
      }
    }
  }

  private func ask(_ sentinel: RedisAddress) async {
    do throws(RedisError) {
      let session = try await session(with: sentinel)
      let address = try await session.primary(named: name)
      if address == nil {
        audience.record(
          RedisError(
            .notReady, "the sentinel \(sentinel) knows no primary named \(name)", endpoint: "\(sentinel)",
            hint: "Use the primary's name in the sentinels' configuration: sentinel monitor NAME …"))
      }
      handle(.answered(address))
    } catch {
      audience.record(error)
      await endSession()
      handle(.failed)
    }
  }

  private func session(with sentinel: RedisAddress) async throws(RedisError) -> SentinelSession {
    if let session, session.sentinel == sentinel { return session }
    await endSession()
    let number = sessions
    let made = try await SentinelSession(
      sentinel, options: options, on: loop,
      announced: { [weak self] name, address in self?.assumeIsolated { $0.announced(name, address) } },
      lost: { [weak self] in self?.assumeIsolated { $0.lost(number) } })
    session = made
    return made
  }

  private func announced(_ name: String, _ address: RedisAddress) {
    if name == self.name { handle(.announced(address)) }
  }

  private func lost(_ number: Int) {
    // If a session ends while it is being created, the call that creates it reports the error, and this function does
    // nothing.
    guard number == sessions, let ended = session else { return }
    session = nil
    sessions += 1
    Task { await ended.close() }
    handle(.lost)
  }

  private func endSession() async {
    let ended = session
    session = nil
    sessions += 1
    await ended?.close()
  }

  private func wait() {
    let timer = timer ?? LoopTimer(on: loop) { [weak self] in self?.assumeIsolated { $0.handle(.timer) } }
    self.timer = timer
    timer.schedule(after: .nanoseconds(Int(clamping: options.pollInterval.wholeNanoseconds)))
  }
}
