internal import Synchronization
internal import TLS

/// The faces that a simulator shows at the handshake, each made when it is first wanted. Shared by all event loops.
final class ServerContexts: Sendable {
  private let usual: TLSContext
  private let identity: TLSIdentity
  private let names: [String]
  private let clients: ClientCertificatePolicy?
  private let others = Mutex<[String: TLSContext]>([:])

  /// - Parameters:
  ///   - identity: what clients are to trust.
  ///   - names: what a certificate that they shall not trust says.
  init(identity: TLSIdentity, names: [String], clients: ClientCertificatePolicy?) throws {
    usual = try TLSContext.server(identity: identity, protocols: ["h2"], clients: clients)
    self.identity = identity
    self.names = names
    self.clients = clients
  }

  /// The context that the knobs ask for.
  func context(for knobs: SimulatorKnobs) throws -> TLSContext {
    guard knobs.showsUntrustedCertificate || !knobs.answersALPN else { return usual }
    let key = "\(knobs.showsUntrustedCertificate) \(knobs.answersALPN)"
    return try others.withLock { others in
      if let known = others[key] { return known }
      let shown = knobs.showsUntrustedCertificate ? try SelfSignedIdentity(names: names).identity : identity
      let made = try TLSContext.server(
        identity: shown, protocols: knobs.answersALPN ? ["h2"] : [], clients: clients)
      others[key] = made
      return made
    }
  }
}
