public import PushCore
public import TLS

/// What lets pushes into APNs: the tokens of a signing key (``ProviderTokenSource``), or a client certificate
/// (``ClientCertificate``).
///
/// The seam between pools, which only ask what to send with, and where that comes from. Safe to use from any thread;
/// pools of the same credential share one. One credential speaks for one team, so do the connections of its pools.
public protocol PushCredential: AnyObject, Sendable {
  /// With what to send now; `nil` while there is nothing, and when stopped.
  func authorization() -> PushAuthorization?
  /// What APNs did to what was sent with it.
  func note(_ event: CredentialEvent)
  /// Why nothing is sent with it any more; `nil` while it is.
  var stopped: Reason? { get }
  /// Nothing is sent until ``resume()``: APNs refuses the credential.
  func stop(_ reason: Reason)
  /// Tries it again, as after a start.
  func resume()
  /// What the reason means for this credential and what to mend, for people.
  func explain(_ reason: Reason) -> String
  /// Sets how many seconds the fleet's clock is ahead of this machine's.
  func setOffset(_ seconds: Int64)
  /// Calls `body` whenever ``authorization()`` may have changed other than by time, on any thread.
  func observe(_ body: @escaping @Sendable () -> Void)
}

/// With what a push is sent.
public enum PushAuthorization: Sendable, Equatable {
  /// In the `authorization` header.
  case token(ProviderToken)
  /// In the TLS handshake; then there is no header: APNs would ignore it (Apple, "Establishing a certificate-based
  /// connection to APNs").
  case certificate(TLSIdentity, generation: Int)

  /// Tells an answer about an older token or certificate from one about this.
  public var generation: Int {
    switch self {
    case .token(let token): token.generation
    case .certificate(_, let generation): generation
    }
  }

  /// Connections are opened for one of these and never used with another: APNs binds them to the first key it sees on
  /// them, or to the certificate.
  var connection: Int {
    switch self {
    case .token(let token): token.keyGeneration
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

/// What APNs said about a credential.
public enum CredentialEvent: Sendable, Equatable {
  /// A push was accepted on a new connection.
  case accepted
  /// The provider token of this generation was refused as too old.
  case tokenExpired(generation: Int)
  /// APNs saw more provider tokens than it likes; this was the last.
  case tooManyTokens(generation: Int)
  /// The certificate of this generation was refused in the TLS handshake, or right after it as TLS 1.3 does.
  case certificateRefused(TLSAlert, generation: Int)
  /// A connection with this certificate was ended before the first push was looked at: what APNs does with certificates
  /// of the other environment, but also when a server shuts down.
  case turnedAway(generation: Int)
}
