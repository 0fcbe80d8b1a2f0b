internal import HTTP2
internal import TLS

/// A port of the simulator: APNs, FCM, the token endpoint or the control API. It makes a role for each of its
/// connections (``ConnectionRole``), so the acceptor and the event loops contain no code for a particular service.
protocol ServedPort: Sendable {
  /// Returns how to start a new connection; `nil` to reset the connection.
  ///
  /// - Parameter descriptor: the accepted socket.
  func greeting(for descriptor: Int32, by state: LoopState) -> Greeting?
  /// Creates the session and the role after the handshake, when the client's certificate is known.
  ///
  /// - Parameter id: the number of the connection.
  func open(_ id: Int, on stream: TLSStream, by state: LoopState, in loop: SimulatorLoop?) throws -> OpenedConnection
}

/// A session and the role that answers its requests.
typealias OpenedConnection = (session: any WireSession, role: any ConnectionRole)

/// How to start a connection, up to the end of the TLS handshake.
struct Greeting {
  /// Delay before the handshake, in milliseconds.
  var delayMilliseconds = 0
  var offer = TLSOffer()
}

/// The server's part of a TLS handshake.
struct TLSOffer: Hashable {
  /// Whether the server shows a certificate that no client trusts.
  var isUntrusted = false
  /// The allowed protocols in order of preference; empty to ignore ALPN.
  var protocols = ["h2"]
  /// Whether the server asks for a client certificate, if the configuration has authorities for them.
  var asksForCertificate = true
}

/// A role that answers requests of a push service, immediately or later.
protocol ServiceRole: ConnectionRole {
  /// Number of requests received in full.
  var requestCount: Int { get }
  /// Maximum age and idle time of the connection. Later changes of the knobs do not apply to it.
  var lifetime: ConnectionLifetime { get }
  /// Sends the answer that was already decided. Does nothing if the stream is closed.
  func answer(_ stream: HTTP2Stream) throws
  /// Ends the connection after its open requests.
  func leave(at end: ConnectionEnd) throws
}

/// Maximum age and idle time of a connection, in seconds; 0 for no limit.
struct ConnectionLifetime {
  /// Age at which the connection ends.
  var ageSeconds = 0
  /// Time without requests after which the connection ends.
  var idleSeconds = 0
}

/// The cause of an orderly end of a connection.
enum ConnectionEnd {
  case age
  case idleness
  /// The control API or a timeline ends all connections.
  case order
}
