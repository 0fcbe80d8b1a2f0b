/// A failure of the way to Redis: of an address, a connection, a handshake, a deadline.
///
/// What Redis itself answers, refusals included, is data: see ``RedisReply`` and ``RedisServerError``.
public struct RedisError: Error, Sendable, CustomStringConvertible {
  /// What kind of failure it was.
  public enum Code: String, Sendable {
    /// The URL cannot be understood.
    case invalidURL
    /// What was asked for is not built in.
    case unsupported
    /// The host name has no address.
    case unknownHost
    /// Nobody listens at the address, or it cannot be reached.
    case connectionRefused
    /// The connection was not ready within the connect timeout.
    case connectTimeout
    /// The answers did not come within the answer timeout.
    case answerTimeout
    /// The connection ended: by the peer, the network, or ``RedisClient/close()``.
    case closed
    /// The call was for an earlier connection; nothing of it was sent.
    case reconnected
    /// What came is not RESP2, or more than any bound of ours allows.
    case protocolViolation
    /// Redis wants another user or password.
    case authentication
    /// The user may not run a command, or not on these keys.
    case noPermission
    /// TLS: this side does not believe the server's certificate, or the server does not believe ours.
    case untrusted
    /// A file with a password, a certificate or trust roots can't be used.
    case unusableFile
    /// Redis refused a step of the handshake: the database number, a script, a connection too many.
    case refused
    /// Redis is there but can't serve just now: it loads its data, or a script keeps it busy.
    case notReady
    /// More is waiting already than the bounds of this client allow.
    case overloaded
    /// The calling task was cancelled.
    case cancelled
  }

  /// What kind of failure it was.
  public var code: Code
  /// What went wrong.
  public var message: String
  /// `host:port`, or empty when no server is concerned. Never a password.
  public var endpoint: String
  /// What to do next.
  public var hint: String
  /// Whether Redis may have run any command of the call that failed. When false, the call can be repeated safely.
  public var mayHaveExecuted: Bool

  init(_ code: Code, _ message: String, endpoint: String = "", hint: String, mayHaveExecuted: Bool = false) {
    self.code = code
    self.message = message
    self.endpoint = endpoint
    self.hint = hint
    self.mayHaveExecuted = mayHaveExecuted
  }

  /// Whether trying again without any change somewhere else is pointless.
  var isPermanent: Bool {
    switch code {
    case .invalidURL, .unsupported, .authentication, .noPermission, .untrusted, .unusableFile, .refused: true
    default: false
    }
  }

  public var description: String {
    let place = endpoint.isEmpty ? "" : " at \(endpoint)"
    let doubt = mayHaveExecuted ? " (commands in flight may have been executed)" : ""
    return "Redis\(place): \(message)\(doubt). \(hint)"
  }
}
