public import PushCore
public import PushTransport
internal import Synchronization
public import TLS

/// A push certificate that connections to APNs are opened with.
public final class ClientCertificate: PushCredential {
  /// Connections in a row that APNs ends before it has looked at a push, until that is taken for the wrong environment.
  /// libcurl doesn't pass on what the GOAWAY says; a server that shuts down does the same, but not three in a row.
  static let turnedAwayLimit = 3

  private struct State {
    var identity: TLSIdentity
    var certificate: PushCertificate
    var generation = 1
    var stopped: ReasonCode?
    /// What APNs said as it refused it, where the reason has no name.
    var words: String?
    /// The alert that it was last refused with.
    var alert: TLSAlert?
    /// Connections in a row that were ended before the first push.
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
  /// - Throws: ``TLS/TLSError`` when the certificate can't be read.
  public init(_ identity: TLSIdentity) throws {
    state = Mutex(State(identity: identity, certificate: try Self.read(identity)))
  }

  /// What the certificate allows.
  public var certificate: PushCertificate { state.withLock { $0.certificate } }

  /// Uses another identity from now on: new connections are opened with it, those with the old one finish what is on its
  /// way. A certificate that was stopped is tried again.
  ///
  /// - Throws: ``TLS/TLSError`` when the certificate can't be read; then nothing has changed.
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

  public func note(_ event: CredentialEvent) {
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
      // Another number, so that what still comes back from old connections doesn't stop it again.
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
      return "\(reason.name), \(subject): \(alert.advice) (TLS alert \(alert.name))"
    }
    if reason == .badCertificateEnvironment {
      let sign = turnedAway >= Self.turnedAwayLimit ? " (\(turnedAway) connections ended before the first push)" : ""
      return "\(reason.name), \(subject): it is not for this environment\(sign); mend environment or certificate"
    }
    return "\(words ?? reason.name), \(subject); mend certificate, environment or topic"
  }

  /// A certificate's time is in itself; APNs' clock judges it.
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
  /// What it says about the certificate, and what to do.
  var advice: String {
    switch self {
    case .certificateExpired: "the certificate has expired; renew it on developer.apple.com"
    case .certificateRevoked: "the certificate was revoked; make a new one on developer.apple.com"
    case .unknownAuthority: "whoever signed the certificate is not known there; it must be one of Apple's"
    default: "the certificate is not taken; check that it is a push certificate of Apple's"
    }
  }
}
