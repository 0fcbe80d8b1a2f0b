/// What all event loops of a simulator share, each part safe by itself.
final class SharedState: Sendable {
  let configuration: SimulatorConfiguration
  let registry = DeviceRegistry()
  let deliveries = DeliveryLog()
  let verifier: ProviderTokenVerifier

  init(_ configuration: SimulatorConfiguration) throws {
    self.configuration = configuration
    verifier = try ProviderTokenVerifier(configuration.keys)
  }
}
