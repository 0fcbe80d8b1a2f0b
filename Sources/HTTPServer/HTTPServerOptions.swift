/// How a server is set up. Everything that a client could ask for without end has a bound here.
public struct HTTPServerOptions: Sendable {
  /// Where it listens, in numbers: `127.0.0.1`, `::1`, `::` for all addresses of both kinds.
  public var host: String
  /// 0 lets the system choose.
  public var port: Int
  /// Connections at most: a page has six, a scraper one. A new one beyond that takes the place of the one that was quiet for
  /// longest, of the network that has most.
  public var connections = 128
  /// Connections beyond ``connections`` while none is quiet, and while an ended one is being closed: libmicrohttpd accepts
  /// ten at once.
  public var spareConnections = 32
  /// Requests under way at most, beyond which all but health checks get a 503: fewer than ``connections``, so that long
  /// answers leave room for the next check.
  public var requests = 96
  /// Bytes of memory for a connection's headers and buffers, by which longer headers are refused (431).
  public var memoryPerConnection = 32 * 1024
  /// Seconds without a byte in either direction after which a connection is closed.
  public var idleTimeout = 15
  /// Seconds in which a request must have come whole, from the connection's start or from the answer before: otherwise a
  /// byte every few seconds would keep a connection for ever.
  public var requestDeadline = 30.0
  /// Bytes of bodies in memory at most, of all connections together; beyond that requests with a body get a 503.
  public var bodyMemory = 16 << 20
  /// What it shows in TLS handshakes; `nil` for plain HTTP.
  public var identity: Identity?

  /// A server's certificate and key, PEM.
  public struct Identity: Sendable {
    public var certificateChain: String
    public var key: String

    /// Memberwise.
    public init(certificateChain: String, key: String) {
      self.certificateChain = certificateChain
      self.key = key
    }
  }

  /// With bounds fit for a service that people and scrapers ask.
  public init(host: String, port: Int) {
    self.host = host
    self.port = port
  }
}

/// Why a server could not be started.
public struct HTTPServerError: Error, Sendable, CustomStringConvertible {
  /// Where it was to listen, and what the system said.
  public var description: String
  /// Whether the socket listens and TLS was asked for: then it is most likely the certificate or the key.
  public var isOfIdentity = false
}
