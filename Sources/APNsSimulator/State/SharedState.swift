internal import TLS

/// What all event loops of a simulator share, each part safe by itself.
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
  /// Whose certificates are believed; `nil` asks for none.
  let clients: ClientCertificatePolicy?
  let verifier: ProviderTokenVerifier
  /// Where received requests are noted; `nil` when nobody asked for it.
  let log: RequestLog?

  init(_ configuration: SimulatorConfiguration) throws {
    self.configuration = configuration
    channels = ChannelStore(seed: configuration.seed)
    log = try configuration.log.map { try RequestLog($0) }
    clients = configuration.clientAuthorityPEM.map { ClientCertificatePolicy(authorityPEM: $0) }
    verifier = try ProviderTokenVerifier(configuration.keys)
    obey(configuration.knobs)
  }

  /// Turns what is shared the way the knobs say.
  func obey(_ knobs: SimulatorKnobs) {
    tokenFailures.set(knobs.tokenFailures)
    switch knobs.certificateAlert {
    case .none: clients?.refuse(nil)
    case .expired: clients?.refuse(.expired)
    case .revoked: clients?.refuse(.revoked)
    case .unknownAuthority: clients?.refuse(.unknownAuthority)
    }
  }
}
