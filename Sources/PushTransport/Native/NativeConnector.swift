internal import EventLoop
internal import PushCore
internal import TLS

/// Connector that makes connections through nghttp2 and OpenSSL.
struct NativeConnector: PushConnector {
  /// Function that looks up a host and returns at least one address, in the order in which they are tried.
  typealias Resolve = @Sendable (_ host: String, _ port: UInt16) throws -> [SocketAddress]

  let configuration: ConnectionPool.Configuration
  /// Timeouts after which a silent peer is checked.
  var liveness = NativeConnection.Liveness()
  /// First stream id of every connection; for tests.
  var firstStreamID: UInt32 = 1
  /// Lookup of a host. The addresses are shuffled, so that the connections of a fleet begin with different addresses.
  var resolve: Resolve = { try SocketAddress.resolve(host: $0, port: $1).shuffled() }

  /// Buffer for received bytes. A TLS record has at most 16 kB (RFC 8446 section 5.1), and no read returns more.
  private let input = ReadBuffer(count: 16_384)
  private var tls: (context: TLSContext, connection: Int)?

  init(_ configuration: ConnectionPool.Configuration) { self.configuration = configuration }

  var findsDeadConnections: Bool { true }

  var tickInterval: UInt64? {
    let shortest = min(
      configuration.requestTimeout, configuration.connectTimeout, liveness.busy, liveness.idle, liveness.answer)
    return TickInterval.nanoseconds(shortest: min(shortest, configuration.policy.shortestLimit ?? shortest))
  }

  mutating func connect(
    _ authorization: PushAuthorization, _ context: ConnectionContext<NativeConnection.Event>, now: UInt64
  ) throws -> NativeConnection {
    let setup = try NativeConnection.Setup(configuration, liveness: liveness, firstStreamID: firstStreamID)
    return NativeConnection(
      setup, authorization, tls: try self.context(authorization), context, input: input.bytes, resolve: resolve,
      now: now)
  }

  private mutating func context(_ authorization: PushAuthorization) throws -> TLSContext {
    if let tls, tls.connection == authorization.connection { return tls.context }
    let context = try TLSContext.client(
      trust: configuration.endpoint.trustRoots.map { .file($0) } ?? .system, protocols: ["h2"],
      identity: authorization.identity)
    tls = (context, authorization.connection)
    return context
  }
}
