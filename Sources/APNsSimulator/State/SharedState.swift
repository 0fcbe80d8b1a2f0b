/// What all event loops of a simulator share, each part safe by itself.
final class SharedState: Sendable {
  let configuration: SimulatorConfiguration
  let registry = DeviceRegistry()
  let deliveries = DeliveryLog()
  let tokenFailures = TokenFailures()
  let verifier: ProviderTokenVerifier
  /// Where received requests are noted; `nil` when nobody asked for it.
  let log: RequestLog?

  init(_ configuration: SimulatorConfiguration) throws {
    self.configuration = configuration
    log = try configuration.log.map { try RequestLog($0) }
    tokenFailures.set(configuration.knobs.tokenFailures)
    verifier = try ProviderTokenVerifier(configuration.keys)
  }
}
