private import EventLoop
private import TLS

/// An APNs to test against: TLS, HTTP/2, provider tokens, devices and every documented rejection, on loopback.
///
/// ```swift
/// var configuration = SimulatorConfiguration()
/// configuration.keys = [.init(keyID: "ABC123DEFG", teamID: "DEF123GHIJ", pem: publicKeyPEM)]
/// let simulator = try await Simulator.start(configuration)
/// // push to 127.0.0.1:simulator.port, trusting simulator.authorityPEM
/// await simulator.stop()
/// ```
public final class Simulator: Sendable {
  /// The port for pushes.
  public let port: UInt16
  /// The port of the control API: `GET /health`, `GET /counters`, `POST /devices`, `POST /online` and
  /// `/offline` (tokens in hex, one a line), `GET` and `PUT /knobs`, `POST /reset` (`?devices=true` forgets the devices too), `POST /goaway`, `POST /timeline`; HTTP/2 over TLS, JSON answers.
  public let controlPort: UInt16
  /// What clients must trust, or `nil` when the configuration brought an identity of its own.
  public let authorityPEM: String?

  private let service: ControlService
  private let acceptors: [Acceptor]

  /// Listens on both ports and returns when connections are taken.
  ///
  /// - Throws: a `SocketError` when a port can't be had, a `TLSError` when a key or certificate can't be read, a
  ///   ``RequestLogError`` when the log can't be opened.
  public static func start(
    _ configuration: SimulatorConfiguration = SimulatorConfiguration()
  ) async throws -> Simulator {
    let simulator = try Simulator(configuration)
    for acceptor in simulator.acceptors { await acceptor.start() }
    return simulator
  }

  private init(_ configuration: SimulatorConfiguration) throws {
    let selfSigned = configuration.identity == nil ? try SelfSignedIdentity(names: configuration.names) : nil
    authorityPEM = selfSigned?.authorityPEM
    guard let identity = configuration.identity ?? selfSigned?.identity else {
      throw TLSError(operation: "start the simulator", reason: "no certificate")
    }
    let shared = try SharedState(configuration)
    let contexts = try ServerContexts(identity: identity, names: configuration.names, clients: shared.clients)
    let loopCount = max(configuration.threads, 1)
    let loops = (0..<loopCount).map { number in
      SimulatorLoop(number, of: loopCount, shared: shared, contexts: contexts)
    }
    service = ControlService(shared: shared, loops: loops)
    let push = try SocketAddress.resolve(host: configuration.host, port: configuration.port)
    let control = try SocketAddress.resolve(host: "127.0.0.1", port: configuration.controlPort)
    acceptors = [
      try Acceptor(at: push[0], for: .push, targets: loops),
      try Acceptor(at: control[0], for: .control(service), targets: loops),
    ]
    port = acceptors[0].port
    controlPort = acceptors[1].port
  }

  deinit {
    service.stopPlaying()
    let (acceptors, loops) = (acceptors, service.loops)
    Task { await Self.close(acceptors, loops) }
  }

  /// What was counted since the start or the last reset.
  public func counters() async -> SimulatorCounters { await service.counters() }

  /// The first counters that meet a condition, looked at every millisecond.
  ///
  /// - Throws: `CancellationError` when the task is cancelled first.
  public func counters(when isMet: (SimulatorCounters) -> Bool) async throws -> SimulatorCounters {
    while true {
      let counters = await counters()
      if isMet(counters) { return counters }
      try await Task.sleep(for: .milliseconds(1))
    }
  }

  /// Adds devices, or changes what is known of them.
  public func load(_ devices: some Sequence<SimulatedDevice>) {
    let registry = service.shared.registry
    for device in devices where !device.token.isEmpty && device.token.count <= 255 {
      let topic = device.topic.map { registry.topicID(Array($0.utf8)) } ?? DeviceRegistry.anyTopic
      let record = TokenTable.Record(
        state: device.state, topic: topic, timestamp: device.timestamp, environment: device.environment)
      device.token.withUnsafeBytes { registry.set($0, record) }
    }
  }

  /// Takes devices off the air, so that their pushes wait, or back, so that they get what waits.
  ///
  /// - Parameter tokens: raw; an unknown one is registered for any topic from then on.
  public func set(_ tokens: some Sequence<[UInt8]>, online isOnline: Bool) {
    for token in tokens where !token.isEmpty && token.count <= 255 { service.set(token, isAway: !isOnline) }
  }

  /// Makes a broadcast channel, as the channel API does.
  ///
  /// - Parameters:
  ///   - app: the bundle id.
  ///   - keepsLatest: whether it keeps its latest message, and so takes an expiration.
  /// - Returns: its id; `nil` when the app has as many as it may.
  public func openChannel(of app: String, keepsLatest: Bool) -> String? {
    service.shared.channels.create(for: Array(app.utf8), keepsLatest ? .mostRecent : .none)
  }

  /// What can be changed at run time, as it is now.
  public var knobs: SimulatorKnobs { service.knobs }

  /// Changes what can be changed at run time; returns when every event loop goes by it.
  public func set(_ knobs: SimulatorKnobs) async { await service.set(knobs) }

  /// Counts from zero again.
  ///
  /// - Parameter devices: whether the devices are forgotten too.
  public func reset(devices: Bool = false) async { await service.reset(devices: devices) }

  /// Ends every push connection with GOAWAY, after its open requests.
  public func goAway() async {
    await service.leaveAll()
  }

  /// Turns knobs by the clock from now on, in place of the timeline that was playing.
  public func play(_ timeline: SimulatorTimeline) { service.play(timeline) }

  /// Why the log could not be written any more, if that ever happens; the simulator then answers nothing. For one reader.
  public var logFailures: AsyncStream<RequestLogError> {
    service.shared.log?.failures ?? AsyncStream { $0.finish() }
  }

  /// Stops listening and closes every connection. Idempotent.
  public func stop() async {
    service.stopPlaying()
    await Self.close(acceptors, service.loops)
  }

  private static func close(_ acceptors: [Acceptor], _ loops: [SimulatorLoop]) async {
    for acceptor in acceptors { await acceptor.stop() }
    for loop in loops { await loop.closeAll() }
  }
}
