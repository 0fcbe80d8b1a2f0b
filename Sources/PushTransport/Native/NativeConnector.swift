internal import EventLoop
internal import TLS

/// Makes connections through nghttp2 and OpenSSL.
struct NativeConnector: PushConnector {
  /// Looks a host up: the addresses in the order in which they are to be tried, at least one.
  typealias Resolve = @Sendable (_ host: String, _ port: UInt16) throws -> [SocketAddress]

  let configuration: ConnectionPool.Configuration
  /// When a silent peer is asked for a sign of life.
  var liveness = NativeConnection.Liveness()
  /// Of every connection; for tests.
  var firstStreamID: UInt32 = 1
  /// Shuffled, so that not all connections of a fleet begin with the same.
  var resolve: Resolve = { try SocketAddress.resolve(host: $0, port: $1).shuffled() }

  /// A TLS record holds 16 kB (RFC 8446 section 5.1), and no read gives more.
  private let input = ReadBuffer(count: 16_384)
  private var tls: (context: TLSContext, connection: Int)?

  /// Time-outs are seen this share of their time late at most.
  private static let ticksPerTimeout: UInt64 = 16
  private static let tickRange: ClosedRange<UInt64> = 5_000_000...500_000_000

  init(_ configuration: ConnectionPool.Configuration) { self.configuration = configuration }

  var findsDeadConnections: Bool { true }

  var tickInterval: UInt64? {
    let shortest = min(
      configuration.requestTimeout, configuration.connectTimeout, liveness.busy, liveness.idle, liveness.answer)
    return max(Self.tickRange.lowerBound, min(shortest / Self.ticksPerTimeout, Self.tickRange.upperBound))
  }

  mutating func connect(
    _ authorization: PushAuthorization, _ surroundings: ConnectionSurroundings<NativeConnection.Event>, now: UInt64
  ) throws -> NativeConnection {
    let setup = try NativeConnection.Setup(configuration, liveness: liveness, firstStreamID: firstStreamID)
    return NativeConnection(
      setup, authorization, tls: try context(authorization), surroundings, input: input.bytes, resolve: resolve,
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
