internal import Synchronization
internal import TLS

/// The TLS contexts of a simulator, each created when it is first needed. Shared by all event loops.
final class ServerContexts: Sendable {
  private let usual: TLSContext
  private let identity: TLSIdentity
  private let names: [String]
  private let clients: ClientCertificatePolicy?
  private let others = Mutex<[String: TLSContext]>([:])

  /// - Parameters:
  ///   - identity: the identity that clients trust.
  ///   - names: names in the certificate that clients must not trust.
  init(identity: TLSIdentity, names: [String], clients: ClientCertificatePolicy?) throws {
    usual = try TLSContext.server(identity: identity, protocols: ["h2"], clients: clients)
    self.identity = identity
    self.names = names
    self.clients = clients
  }

  /// Returns the context for the given knobs.
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
