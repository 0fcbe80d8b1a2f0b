private import EventLoop
private import TLS

/// A local APNs for tests, with TLS, HTTP/2, provider tokens, devices and every documented rejection. It can also have
/// an FCM side.
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
  /// The port of the control API: HTTP/2 over TLS with JSON answers.
  ///
  /// - `GET /health`, `GET /counters`, `GET` and `PUT /knobs`
  /// - `POST /devices`, `POST /online` and `POST /offline` (tokens in hex, one per line)
  /// - `POST /goaway`, `POST /timeline`
  /// - `POST /fcm/devices`, `GET /fcm/deliveries?token=TOKEN`, `POST /fcm/tokens/revoke`, `POST /fcm/tokens/expire`
  /// - `POST /reset`, or `POST /reset?devices=true` to remove the devices too
  public let controlPort: UInt16
  /// The port of FCM; `nil` if the configuration has no FCM side.
  public let fcmPort: UInt16?
  /// The port of Google's token endpoint, `POST /token`; `nil` if the configuration has no FCM side.
  public let tokenPort: UInt16?
  /// The certificate of the authority that clients must trust, as PEM; `nil` if the configuration has an identity.
  public let authorityPEM: String?

  private let service: ControlService
  private let acceptors: [Acceptor]

  /// Starts a simulator and listens on its ports. Returns when the simulator accepts connections.
  ///
  /// - Throws: a `SocketError` if a port is not available, a `TLSError` if a key or certificate is invalid, a
  ///   ``RequestLogError`` if the log can't be opened.
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
    var acceptors = [
      try Acceptor(at: push[0], for: PushPort(), targets: loops),
      try Acceptor(at: control[0], for: ControlPort(service: service), targets: loops),
    ]
    port = acceptors[0].port
    controlPort = acceptors[1].port
    if let fcm = configuration.fcm, let state = shared.fcm {
      for (service, port) in [(GooglePort.Service.messages, fcm.port), (.tokens, fcm.tokenPort)] {
        let address = try SocketAddress.resolve(host: configuration.host, port: port)[0]
        acceptors.append(try Acceptor(at: address, for: GooglePort(service: service, state: state), targets: loops))
      }
    }
    fcmPort = acceptors.count > 2 ? acceptors[2].port : nil
    tokenPort = acceptors.count > 2 ? acceptors[3].port : nil
    self.acceptors = acceptors
  }

  deinit {
    service.stopPlaying()
    let (acceptors, loops) = (acceptors, service.loops)
    Task { await Self.close(acceptors, loops) }
  }

  /// Returns the counts since the start or the last reset.
  public func counters() async -> SimulatorCounters { await service.counters() }

  /// Checks the counters every millisecond, and returns the first counters that meet a condition.
  ///
  /// - Throws: `CancellationError` if the task is cancelled first.
  public func counters(when isMet: (SimulatorCounters) -> Bool) async throws -> SimulatorCounters {
    while true {
      let counters = await counters()
      if isMet(counters) { return counters }
      try await Task.sleep(for: .milliseconds(1))
    }
  }

  /// Adds or changes devices.
  public func load(_ devices: some Sequence<SimulatedDevice>) {
    let registry = service.shared.registry
    for device in devices where !device.token.isEmpty && device.token.count <= 255 {
      let topic = device.topic.map { registry.topicID(Array($0.utf8)) } ?? DeviceRegistry.anyTopic
      let record = TokenTable.Record(
        state: device.state, topic: topic, timestamp: device.timestamp, environment: device.environment)
      device.token.withUnsafeBytes { registry.set($0, record) }
    }
  }

  /// Adds or changes registrations of the FCM side.
  public func load(_ registrations: some Sequence<SimulatedRegistration>) {
    for registration in registrations { service.shared.fcm?.devices.set(registration) }
  }

  /// Ends the life of all access tokens of the FCM side: they get 401 `ACCESS_TOKEN_EXPIRED`.
  public func expireAccessTokens() { service.shared.fcm?.tokens.expireAll() }

  /// Takes devices offline, so that their pushes are stored, or brings them online, so that stored pushes are
  /// delivered.
  ///
  /// - Parameter tokens: raw tokens. An unknown token is registered for any topic.
  public func set(_ tokens: some Sequence<[UInt8]>, online isOnline: Bool) {
    for token in tokens where !token.isEmpty && token.count <= 255 { service.set(token, isAway: !isOnline) }
  }

  /// Creates a broadcast channel, like the channel API.
  ///
  /// - Parameters:
  ///   - app: the bundle id.
  ///   - keepsLatest: whether the channel stores its latest message. Only such a channel allows an expiration.
  /// - Returns: the channel's id; `nil` if the app has the maximum number of channels.
  public func openChannel(of app: String, keepsLatest: Bool) -> String? {
    service.shared.channels.create(for: Array(app.utf8), keepsLatest ? .mostRecent : .none)
  }

  /// The current knobs.
  public var knobs: SimulatorKnobs { service.knobs }

  /// Replaces the settings that can be changed at run time. Returns when every event loop uses them.
  public func set(_ knobs: SimulatorKnobs) async { await service.set(knobs) }

  /// Changes some of the settings that can be changed at run time. Returns when every event loop uses them.
  public func change(_ change: (inout SimulatorKnobs) -> Void) async {
    var knobs = knobs
    change(&knobs)
    await set(knobs)
  }

  /// Resets the counts.
  ///
  /// - Parameter devices: whether the devices are removed too.
  public func reset(devices: Bool = false) async { await service.reset(devices: devices) }

  /// Ends every push connection with GOAWAY, after its open requests.
  public func goAway() async {
    await service.leaveAll()
  }

  /// Plays a timeline of knob changes. It replaces the timeline that was playing.
  public func play(_ timeline: SimulatorTimeline) { service.play(timeline) }

  /// The error that stopped the log, if one occurs. After this error, the simulator answers no requests. Only one task
  /// may read the stream.
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
