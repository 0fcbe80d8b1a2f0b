internal import TLS

/// State that all event loops of a simulator share. Each part is thread-safe.
final class SharedState: Sendable {
  let configuration: SimulatorConfiguration
  let registry = DeviceRegistry()
  let deliveries = DeliveryLog()
  let mailboxes = Mailboxes()
  let channels: ChannelStore
  let tokenFailures = TokenFailures()
  let tokenUpdates = TokenUpdatesByAddress()
  let connectRates = ConnectRates()
  let tokenRates = TokenRates()
  /// The authorities whose client certificates are accepted; `nil` requests no certificates.
  let clients: ClientCertificatePolicy?
  let verifier: ProviderTokenVerifier
  /// The log of received requests; `nil` without one.
  let log: RequestLog?
  /// The FCM side; `nil` without one.
  let fcm: FCMState?

  init(_ configuration: SimulatorConfiguration) throws {
    self.configuration = configuration
    channels = ChannelStore(seed: configuration.seed)
    log = try configuration.log.map { try RequestLog($0) }
    fcm = try configuration.fcm.map { try FCMState($0) }
    clients = configuration.clientAuthorityPEM.map { ClientCertificatePolicy(authorityPEM: $0) }
    verifier = try ProviderTokenVerifier(configuration.keys)
    apply(configuration.knobs)
  }

  /// Applies those knobs that concern the shared state.
  func apply(_ knobs: SimulatorKnobs) {
    tokenFailures.set(knobs.tokenFailures)
    switch knobs.certificateAlert {
    case .none: clients?.refuse(nil)
    case .expired: clients?.refuse(.expired)
    case .revoked: clients?.refuse(.revoked)
    case .unknownAuthority: clients?.refuse(.unknownAuthority)
    }
  }
}
