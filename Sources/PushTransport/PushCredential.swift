public import PushCore
public import TLS

/// What a push service lets pushes in for: bearer tokens that are made anew now and then, or a client certificate.
///
/// The seam between pools, which only ask what to send with, and where that comes from. Safe to use from any thread;
/// pools of the same credential share one. One credential speaks for one account of the service, and so do the connections of its pools.
public protocol PushCredential: AnyObject, Sendable {
  /// With what to send now; `nil` while there is nothing, and when stopped.
  func authorization() -> PushAuthorization?
  /// What the service did to what was sent with it. One that is refused is stopped: nothing is sent until ``resume()``.
  func note(_ event: CredentialEvent)
  /// Why nothing is sent with it any more; `nil` while it is.
  var stopped: ReasonCode? { get }
  /// When it ceases to be valid, in UNIX seconds; `nil` for never.
  var expiry: Int64? { get }
  /// Tries it again, as after a start.
  func resume()
  /// What the reason means for this credential and what to mend, for people.
  func explain(_ reason: ReasonCode) -> String
  /// Sets how many seconds the fleet's clock is ahead of this machine's.
  func setOffset(_ seconds: Int64)
  /// Calls `body` whenever ``authorization()`` may have changed other than by time, on any thread.
  func observe(_ body: @escaping @Sendable () -> Void)
}

extension PushCredential {
  public var expiry: Int64? { nil }
}

/// With what a push is sent.
public enum PushAuthorization: Sendable, Equatable {
  /// In the `authorization` header.
  case token(BearerToken)
  /// In the TLS handshake; then there is no header.
  case certificate(TLSIdentity, generation: Int)

  /// Tells an answer about an older token or certificate from one about this.
  public var generation: Int {
    switch self {
    case .token(let token): token.generation
    case .certificate(_, let generation): generation
    }
  }

  /// Connections are opened for one of these and never used with another: a service may bind them to the first account
  /// it sees on them, and does bind them to the certificate.
  var connection: Int {
    switch self {
    case .token(let token): token.connection
    case .certificate(_, let generation): generation
    }
  }

  /// What the client shows in the TLS handshake.
  public var identity: TLSIdentity? {
    switch self {
    case .token: nil
    case .certificate(let identity, _): identity
    }
  }
}

/// A bearer token (RFC 6750): the secret that a push carries in its `authorization` header.
public struct BearerToken: Sendable, Equatable {
  /// Without the `bearer` in front.
  public let text: String
  /// Counts the tokens of one source; tells an answer about an older token from one about this.
  public let generation: Int
  /// Counts what the source signs with: tokens of one number may share a connection.
  public let connection: Int

  /// Memberwise.
  public init(text: String, generation: Int, connection: Int = 0) {
    self.text = text
    self.generation = generation
    self.connection = connection
  }
}
