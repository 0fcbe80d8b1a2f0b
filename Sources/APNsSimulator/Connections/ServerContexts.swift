internal import Synchronization
internal import TLS

/// The TLS contexts of a simulator, each created when it is first needed. Shared by all event loops.
final class ServerContexts: Sendable {
  private let usual: TLSContext
  private let identity: TLSIdentity
  private let names: [String]
  private let clients: ClientCertificatePolicy?
  private let others = Mutex<[TLSOffer: TLSContext]>([:])

  /// - Parameters:
  ///   - identity: the identity that clients trust.
  ///   - names: names in the certificate that no client trusts (``TLSOffer/isUntrusted``).
  init(identity: TLSIdentity, names: [String], clients: ClientCertificatePolicy?) throws {
    usual = try TLSContext.server(identity: identity, protocols: ["h2"], clients: clients)
    self.identity = identity
    self.names = names
    self.clients = clients
  }

  /// Returns the context for a handshake.
  func context(for offer: TLSOffer) throws -> TLSContext {
    guard offer != TLSOffer() else { return usual }
    return try others.withLock { others in
      if let known = others[offer] { return known }
      let shown = offer.isUntrusted ? try SelfSignedIdentity(names: names).identity : identity
      let made = try TLSContext.server(
        identity: shown, protocols: offer.protocols, clients: offer.asksForCertificate ? clients : nil)
      others[offer] = made
      return made
    }
  }
}
