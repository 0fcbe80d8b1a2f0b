internal import COpenSSL

/// Settings that many TLS connections share: trust, identity and the offered protocols.
///
/// `@unchecked Sendable` is sound because the `SSL_CTX` changes only in `init`, and OpenSSL allows any number of
/// threads to make connections from an unchanging context (openssl-threads(7)).
public final class TLSContext: @unchecked Sendable {
  /// Certificates that a client trusts.
  public enum Trust: Sendable {
    /// Store of the system, as configured in OpenSSL's build (`SSL_CERT_FILE` and `SSL_CERT_DIR` override it).
    case system
    /// Only the certificates in this PEM text.
    case pem(String)
    /// Only the certificates in this PEM file.
    case file(String)
  }

  /// Size of the read buffer in bytes: four TLS records of 16 kB (RFC 8446 section 5.1). A larger buffer would save
  /// hardly any system calls.
  static let readBuffer = 4 * (16_384 + 512)

  let handle: OpaquePointer
  let isServer: Bool
  private let protocols: ProtocolList
  private let clients: ClientCertificatePolicy?

  /// Returns a context for clients. It verifies the server's certificate and host name, and requires at least TLS 1.2.
  ///
  /// - Parameters:
  ///   - trust: the trusted roots.
  ///   - protocols: the ALPN offer in order of preference, such as `h2`; empty for no offer.
  ///   - identity: the client's certificate, for servers that ask for one.
  /// - Throws: ``TLSError`` if a PEM text or file can't be read, or key and certificate don't match.
  public static func client(
    trust: Trust = .system, protocols: [String] = [], identity: TLSIdentity? = nil
  ) throws -> TLSContext {
    let context = try TLSContext(method: TLS_client_method(), isServer: false, protocols: protocols)
    try context.setTrust(trust)
    SSL_CTX_set_verify(context.handle, SSL_VERIFY_PEER, nil)
    if let identity { try context.use(identity) }
    // SSL_CTX_set_alpn_protos(3) copies the list. Unlike similar functions, it returns 0 on success.
    let offer = context.protocols
    if !protocols.isEmpty, SSL_CTX_set_alpn_protos(context.handle, offer.bytes, offer.count) != 0 {
      throw TLSError.last("offer \(protocols)")
    }
    return context
  }

  /// Returns a context for servers, with at least TLS 1.2.
  ///
  /// A client that offers ALPN must offer one of `protocols`. A client without an offer is accepted (APNs does the
  /// same).
  ///
  /// - Parameters:
  ///   - identity: the server's certificate and key.
  ///   - protocols: the allowed protocols in order of preference; empty to ignore offers.
  ///   - clients: policy for client certificates; clients without one are accepted. `nil` to ask for none.
  /// - Throws: ``TLSError`` if a PEM text can't be read, or key and certificate don't match.
  public static func server(
    identity: TLSIdentity, protocols: [String] = [], clients: ClientCertificatePolicy? = nil
  ) throws -> TLSContext {
    let context = try TLSContext(
      method: TLS_server_method(), isServer: true, protocols: protocols, clients: clients)
    try context.use(identity)
    if let clients {
      try context.setTrust(.pem(clients.authorityPEM))
      clients.install(in: context.handle)
    }
    if !protocols.isEmpty {
      let list = Unmanaged.passUnretained(context.protocols).toOpaque()
      // SSL_CTX_set_alpn_select_cb(3): the argument must live as long as the callback is used. The list lives as long
      // as this context, and every TLSStream keeps its context.
      SSL_CTX_set_alpn_select_cb(context.handle, selectProtocol, list)
    }
    return context
  }

  private init(
    method: OpaquePointer?, isServer: Bool, protocols: [String], clients: ClientCertificatePolicy? = nil
  ) throws {
    guard let handle = SSL_CTX_new(method) else { throw TLSError.last("make a TLS context") }
    self.handle = handle
    self.isServer = isServer
    self.protocols = ProtocolList(protocols)
    self.clients = clients
    guard carillon_ssl_require_tls12(handle) == 1 else { throw TLSError.last("require TLS 1.2") }
    // An end of file without close_notify counts as an orderly close, because HTTP/2 and RESP both detect missing data.
    carillon_ssl_ignore_unexpected_eof(handle)
    carillon_ssl_allow_partial_writes(handle)
    // Without read-ahead, every record costs two recv calls, for header and body (SSL_CTX_set_read_ahead(3)).
    carillon_ssl_read_ahead(handle, Self.readBuffer)
  }

  deinit { SSL_CTX_free(handle) }

  private func setTrust(_ trust: Trust) throws {
    switch trust {
    case .system:
      guard SSL_CTX_set_default_verify_paths(handle) == 1 else { throw TLSError.last("load the system's trust store") }
    case .file(let path):
      guard SSL_CTX_load_verify_file(handle, path) == 1 else { throw TLSError.last("load trust roots from \(path)") }
    case .pem(let text):
      let store = SSL_CTX_get_cert_store(handle)
      for certificate in try PEM.certificates(in: text) {
        defer { X509_free(certificate) }
        // X509_STORE_add_cert(3) takes its own reference.
        guard X509_STORE_add_cert(store, certificate) == 1 else { throw TLSError.last("add a trust root") }
      }
    }
  }

  private func use(_ identity: TLSIdentity) throws {
    let chain = try PEM.certificates(in: identity.certificateChainPEM)
    defer { chain.forEach { X509_free($0) } }
    // SSL_CTX_use_certificate(3) and SSL_CTX_use_PrivateKey(3) take their own references. So does
    // SSL_CTX_add1_chain_cert, a macro that calls SSL_CTX_ctrl with these arguments.
    guard SSL_CTX_use_certificate(handle, chain[0]) == 1 else { throw TLSError.last("use the certificate") }
    for intermediate in chain.dropFirst() {
      guard SSL_CTX_ctrl(handle, SSL_CTRL_CHAIN_CERT, 1, UnsafeMutableRawPointer(intermediate)) == 1 else {
        throw TLSError.last("use the certificate chain")
      }
    }
    let key = try PEM.privateKey(in: identity.privateKeyPEM)
    defer { EVP_PKEY_free(key) }
    guard SSL_CTX_use_PrivateKey(handle, key) == 1, SSL_CTX_check_private_key(handle) == 1 else {
      throw TLSError.last("use the private key")
    }
  }
}

/// ALPN list in wire format (RFC 7301 section 3.1), at a fixed address.
final class ProtocolList {
  let bytes: UnsafeMutablePointer<UInt8>
  let count: UInt32

  init(_ names: [String]) {
    let wire = names.flatMap { [UInt8($0.utf8.count)] + $0.utf8 }
    bytes = .allocate(capacity: max(wire.count, 1))
    bytes.initialize(from: wire, count: wire.count)
    count = UInt32(wire.count)
  }

  deinit { bytes.deallocate() }
}

private func selectProtocol(
  _: OpaquePointer?, chosen: UnsafeMutablePointer<UnsafePointer<UInt8>?>?, chosenCount: UnsafeMutablePointer<UInt8>?,
  offered: UnsafePointer<UInt8>?, offeredCount: UInt32, argument: UnsafeMutableRawPointer?
) -> Int32 {
  guard let argument, let chosen, let chosenCount else { return SSL_TLSEXT_ERR_ALERT_FATAL }
  let list = Unmanaged<ProtocolList>.fromOpaque(argument).takeUnretainedValue()
  var match: UnsafeMutablePointer<UInt8>?
  // SSL_select_next_proto(3): the result points into one of the two lists, and both live during the handshake. The
  // server's preference has priority.
  let status = SSL_select_next_proto(&match, chosenCount, list.bytes, list.count, offered, offeredCount)
  guard status == OPENSSL_NPN_NEGOTIATED else { return SSL_TLSEXT_ERR_ALERT_FATAL }
  chosen.pointee = UnsafePointer(match)
  return SSL_TLSEXT_ERR_OK
}
