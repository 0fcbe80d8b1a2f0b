/// Failure of the connection to Redis: the address, the connection, the handshake or a deadline.
///
/// Answers of Redis, including refusals, are data: see ``RedisReply`` and ``RedisServerError``.
public struct RedisError: Error, Sendable, CustomStringConvertible {
  /// Kind of failure.
  public enum Code: String, Sendable {
    /// The URL is invalid.
    case invalidURL
    /// The host name has no address.
    case unknownHost
    /// No server listens at the address, or the address can't be reached.
    case connectionRefused
    /// The connection was not ready within the connect timeout.
    case connectTimeout
    /// The answers did not arrive within the answer timeout.
    case answerTimeout
    /// The connection was closed: by the peer, the network, or ``RedisClient/close()``.
    case closed
    /// The call was allowed only on an earlier connection. Nothing of the call was sent.
    case reconnected
    /// The received bytes are not RESP2, or exceed a limit of this client.
    case protocolViolation
    /// Redis refuses the user or the password, or requires a login.
    case authentication
    /// The user has no permission for a command, or for these keys.
    case noPermission
    /// TLS: this client does not trust the server's certificate, or the server does not trust the client's.
    case untrusted
    /// A file with a password, a certificate or trust roots can't be used.
    case unusableFile
    /// Redis refused a step of the handshake, such as the database number, a script, or the connection because of a
    /// limit.
    case refused
    /// Redis is running but can't serve now: it is loading its data, or a script blocks it.
    case notReady
    /// More calls are waiting than this client allows.
    case overloaded
    /// The calling task was cancelled.
    case cancelled
  }

  /// Kind of failure.
  public var code: Code
  /// Description of the failure.
  public var message: String
  /// `host:port`; empty if the error concerns no server. Never contains a password.
  public var endpoint: String
  /// The next step for the user.
  public var hint: String
  /// Whether Redis may have executed any command of the failed call. If false, the call can be repeated safely.
  public var mayHaveExecuted: Bool

  init(_ code: Code, _ message: String, endpoint: String = "", hint: String, mayHaveExecuted: Bool = false) {
    self.code = code
    self.message = message
    self.endpoint = endpoint
    self.hint = hint
    self.mayHaveExecuted = mayHaveExecuted
  }

  /// Whether a retry is pointless without a change of the configuration.
  var isPermanent: Bool {
    switch code {
    case .invalidURL, .authentication, .noPermission, .untrusted, .unusableFile, .refused: true
    default: false
    }
  }

  public var description: String {
    let place = endpoint.isEmpty ? "" : " at \(endpoint)"
    let doubt = mayHaveExecuted ? " (commands in flight may have been executed)" : ""
    return "Redis\(place): \(message)\(doubt). \(hint)"
  }
}
