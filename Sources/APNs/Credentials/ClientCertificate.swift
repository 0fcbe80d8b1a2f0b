public import PushCore
public import PushTransport
internal import Synchronization
public import TLS

/// A push certificate for connections to APNs.
public final class ClientCertificate: PushCredential {
  /// If APNs ends this number of consecutive connections before the first push, the certificate is for the wrong
  /// environment. Connections are counted because libcurl does not return the reason in the GOAWAY frame. A server that
  /// shuts down also ends connections, but not three in a row.
  static let turnedAwayLimit = 3

  private struct State {
    var identity: TLSIdentity
    var certificate: PushCertificate
    var generation = 1
    var stopped: ReasonCode?
    /// Text of the refusal by APNs, if Carillon does not know its reason.
    var words: String?
    /// TLS alert with which APNs last refused the certificate; `nil` for none.
    var alert: TLSAlert?
    /// Number of consecutive connections that ended before the first push.
    var turnedAway = 0
    var observers: [@Sendable () -> Void] = []

    mutating func tryAgain() {
      stopped = nil
      words = nil
      alert = nil
      turnedAway = 0
    }
  }

  private let state: Mutex<State>

  /// - Parameter identity: certificate, chain and key.
  /// - Throws: ``TLS/TLSError`` if the certificate can't be read.
  public init(_ identity: TLSIdentity) throws {
    state = Mutex(State(identity: identity, certificate: try Self.read(identity)))
  }

  /// The facts of the certificate: topics, environments, validity.
  public var certificate: PushCertificate { state.withLock { $0.certificate } }

  /// Replaces the identity. New connections use the new identity, and old connections complete their pushes in flight.
  /// If a refusal had stopped the certificate, connections try again.
  ///
  /// - Throws: ``TLS/TLSError`` if the certificate can't be read; nothing changes in this case.
  public func replace(_ identity: TLSIdentity) throws {
    let certificate = try Self.read(identity)
    change { state in
      guard state.identity != identity else { return }
      state.identity = identity
      state.certificate = certificate
      state.generation += 1
      state.tryAgain()
    }
  }

  public func authorization() -> PushAuthorization? {
    state.withLock { $0.stopped == nil ? .certificate($0.identity, generation: $0.generation) : nil }
  }

  public func record(_ event: CredentialEvent) {
    switch event {
    case .accepted: state.withLock { $0.turnedAway = 0 }
    case .certificateRefused(let alert, let generation):
      change { state in
        guard state.generation == generation else { return }
        state.stopped = Reason.badCertificate.code
        state.alert = alert
      }
    case .refused(let reason, let words, let generation):
      change { state in
        guard state.generation == generation, state.stopped == nil else { return }
        state.stopped = reason
        state.words = words
      }
    case .turnedAway(let generation):
      change { state in
        guard state.generation == generation, state.stopped == nil else { return }
        state.turnedAway += 1
        if state.turnedAway >= Self.turnedAwayLimit { state.stopped = Reason.badCertificateEnvironment.code }
      }
    case .tokenExpired, .tooManyTokens: break
    }
  }

  public var expiry: Int64? { certificate.validity.upperBound }

  public var stopped: ReasonCode? { state.withLock { $0.stopped } }

  public func resume() {
    change { state in
      guard state.stopped != nil else { return }
      // Late answers on old connections have the old generation, so they can't stop the certificate again.
      state.generation += 1
      state.tryAgain()
    }
  }

  public func explain(_ reason: ReasonCode) -> String {
    let reason = Reason(reason)
    let (alert, turnedAway, certificate, words) = state.withLock {
      ($0.alert, $0.turnedAway, $0.certificate, $0.words)
    }
    let subject = "certificate “\(certificate.name)”"
    if reason == .badCertificate, let alert {
      return "\(reason.name), \(subject): \(alert.hint) (TLS alert \(alert.name))"
    }
    if reason == .badCertificateEnvironment {
      let sign = turnedAway >= Self.turnedAwayLimit ? " (\(turnedAway) connections ended before the first push)" : ""
      return "\(reason.name), \(subject): it is not for this environment\(sign); fix environment or certificate"
    }
    return "\(words ?? reason.name), \(subject); fix certificate, environment or topic"
  }

  /// Does nothing: a certificate needs no time of this machine. APNs checks its validity by its own clock.
  public func setOffset(_ seconds: Int64) {}

  public func observe(_ body: @escaping @Sendable () -> Void) {
    state.withLock { $0.observers.append(body) }
  }

  private static func read(_ identity: TLSIdentity) throws -> PushCertificate {
    PushCertificate(try CertificateFacts(pem: identity.certificateChainPEM))
  }

  private func change(_ body: (inout State) -> Void) {
    let observers = state.withLock { state -> [@Sendable () -> Void] in
      let before = (state.generation, state.stopped)
      body(&state)
      return before == (state.generation, state.stopped) ? [] : state.observers
    }
    for observer in observers { observer() }
  }
}

extension TLSAlert {
  /// The meaning of the alert for the certificate, and a hint.
  var hint: String {
    switch self {
    case .certificateExpired: "the certificate has expired; renew it on developer.apple.com"
    case .certificateRevoked: "the certificate was revoked; create a new one on developer.apple.com"
    case .unknownAuthority: "APNs does not trust the issuer of the certificate; only Apple can issue it"
    default: "APNs does not accept the certificate; check that it is a push certificate of Apple's"
    }
  }
}
