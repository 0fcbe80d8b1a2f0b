public import PushCore
public import TLS

/// Credential for a push service: bearer tokens that are renewed from time to time, or a client certificate.
///
/// This is the boundary between pools and the source of authorizations: pools only ask for the present authorization.
/// Safe to use from any thread; pools of the same credential share one object. One credential belongs to one account of
/// the service. The connections of its pools therefore belong to this account too.
public protocol PushCredential: AnyObject, Sendable {
  /// Returns the present authorization; `nil` while there is none, and while the credential is stopped.
  func authorization() -> PushAuthorization?
  /// Records the service's reaction to the credential. A refused credential is stopped: nothing is sent until
  /// ``resume()``.
  func record(_ event: CredentialEvent)
  /// Reason why the credential is stopped; `nil` if it is not.
  var stopped: ReasonCode? { get }
  /// Text for people about a problem that delays the next authorization; `nil` while the present authorization is
  /// valid, while the credential is stopped, and during the first attempts. When the cause is gone, the credential
  /// continues automatically.
  var delay: String? { get }
  /// Text for people about a problem that prevents the renewal of the present authorization; `nil` without a problem.
  /// Pushes are still sent. When the present authorization ends, the credential stops or has a ``delay``.
  var renewalProblem: String? { get }
  /// Returns the present authorization. Waits for the first authorization; returns `nil` when the credential stops or
  /// has a ``delay``.
  func firstAuthorization() async -> PushAuthorization?
  /// Time when the credential expires, in UNIX seconds; `nil` for never.
  var expiry: Int64? { get }
  /// Seconds by which this machine's clock is ahead of the service's clock, if the service has refused the credential
  /// because of its time; otherwise 0. The credential corrects the error automatically.
  var clockError: Int64 { get }
  /// Tries the credential again, as after a start, if it is stopped or has a ``renewalProblem``.
  func resume()
  /// Returns a text for people: the meaning of a reason for this credential, and the next step.
  func explain(_ reason: ReasonCode) -> String
  /// Sets the number of seconds by which the fleet's clock is ahead of this machine's.
  func setOffset(_ seconds: Int64)
  /// Calls `body`, on any thread, whenever ``authorization()`` may have changed for a reason other than the passing of
  /// time.
  func observe(_ body: @escaping @Sendable () -> Void)
}

extension PushCredential {
  /// Text for people: why an authorization is missing, and the next step; `nil` for no problem.
  public var problem: String? { stopped.map { explain($0) } ?? delay }

  public var delay: String? { nil }
  public var renewalProblem: String? { nil }
  public func firstAuthorization() async -> PushAuthorization? { authorization() }
  public var expiry: Int64? { nil }
  public var clockError: Int64 { 0 }
}

/// Authorization with which a push is sent.
public enum PushAuthorization: Sendable, Equatable {
  /// Bearer token in the `authorization` header.
  case token(BearerToken)
  /// Client certificate in the TLS handshake, without a header.
  case certificate(TLSIdentity, generation: Int)

  /// Generation of the token or certificate. It distinguishes answers about an older authorization from answers about
  /// the present one.
  public var generation: Int {
    switch self {
    case .token(let token): token.generation
    case .certificate(_, let generation): generation
    }
  }

  /// Number of the signing key or certificate. Each connection is opened for one such number and never used with
  /// another. A service binds a connection to the certificate of its handshake, and may bind it to the first account
  /// that it sees.
  var connection: Int {
    switch self {
    case .token(let token): token.connection
    case .certificate(_, let generation): generation
    }
  }

  /// Client certificate for the TLS handshake.
  public var identity: TLSIdentity? {
    switch self {
    case .token: nil
    case .certificate(let identity, _): identity
    }
  }
}

/// Bearer token (RFC 6750): the secret that a push carries in its `authorization` header.
public struct BearerToken: Sendable, Equatable {
  /// Text without the prefix `bearer`.
  public let text: String
  /// Generation: the number of the token among the tokens of one source. It distinguishes answers about an older token
  /// from answers about the present token.
  public let generation: Int
  /// Number of the source's signing key; tokens with the same number may share a connection.
  public let connection: Int

  /// Creates an instance with these values.
  public init(text: String, generation: Int, connection: Int = 0) {
    self.text = text
    self.generation = generation
    self.connection = connection
  }
}
