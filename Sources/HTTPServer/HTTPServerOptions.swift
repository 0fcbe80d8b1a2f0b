/// The settings of a server. They have a limit for every resource that clients use.
public struct HTTPServerOptions: Sendable {
  /// The numeric address on which the server listens: `127.0.0.1`, `::1`, or `::` for all IPv4 and IPv6 addresses.
  public var host: String
  /// The port; 0 lets the system choose.
  public var port: Int
  /// Maximum number of connections. A browser opens six connections, a scraper one. A further connection replaces an
  /// existing one: in the network with the most connections, the one that was quiet for longest.
  public var connections = 128
  /// Number of connections in addition to ``connections``. They are needed while no existing connection is quiet, and
  /// while a replaced connection is being closed. libmicrohttpd accepts ten connections at the same time.
  public var spareConnections = 32
  /// Maximum number of requests in progress. Above this number, all requests except health checks get a 503. The number
  /// is lower than ``connections``, so that a health check gets a connection even during many long answers.
  public var requests = 96
  /// Bytes of memory for a connection's headers and buffers. Longer headers are refused (431).
  public var memoryPerConnection = 32 * 1024
  /// Seconds without a byte in either direction after which a connection is closed.
  public var idleTimeout = 15
  /// Maximum time in seconds in which a request must arrive completely, from the start of the connection or from the
  /// previous answer. Without this limit, a client could keep a connection open forever with one byte every few
  /// seconds.
  public var requestDeadline = 30.0
  /// Maximum number of bytes of all bodies in memory, over all connections. Above this number, requests with a body get
  /// a 503.
  public var bodyMemory = 16 << 20
  /// The identity for TLS handshakes; `nil` for plain HTTP.
  public var identity: Identity?

  /// A server's certificate and key, in PEM format.
  public struct Identity: Sendable {
    public var certificateChain: String
    public var key: String

    /// Creates an identity from its parts.
    public init(certificateChain: String, key: String) {
      self.certificateChain = certificateChain
      self.key = key
    }
  }

  /// Creates options with limits that suit a service for people and scrapers.
  public init(host: String, port: Int) {
    self.host = host
    self.port = port
  }
}

/// The error if a server could not be started.
public struct HTTPServerError: Error, Sendable, CustomStringConvertible {
  /// The address on which the server should listen, and the error of the system.
  public var description: String
  /// Whether the socket was opened and TLS was requested. If so, the certificate or the key is the most likely cause.
  public var isOfIdentity = false
}
