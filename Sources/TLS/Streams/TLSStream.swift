internal import COpenSSL
public import EventLoop
private import Glibc

/// Stream of bytes over TLS, on a connected ``EventLoop/Socket``.
///
/// Confined to the socket's loop. Bytes may wait inside OpenSSL while the socket has nothing to read. Therefore read
/// until ``EventLoop/IOResult/wantsRead`` before you wait for the socket again.
public final class TLSStream: ByteStream {
  private let socket: Socket
  private let context: TLSContext
  private let ssl: OpaquePointer
  private let bio: SocketBIO
  /// OpenSSL's `SSL` object, for extensions that query the connection.
  var handle: OpaquePointer { ssl }
  private let peer: String
  private var isReady = false

  /// - Parameters:
  ///   - socket: a connected socket, or one from a listener. The caller still closes it.
  ///   - context: the context, which determines whether the stream is a client or a server.
  ///   - serverName: for clients, the host name (or literal address) that the certificate must contain. The client
  ///     sends a host name as SNI, but not an address. With `nil`, no name is checked. Use `nil` only for a peer whose
  ///     certificate is the trust root.
  /// - Throws: ``TLSError`` if OpenSSL is out of memory or the name is invalid.
  public init(_ socket: Socket, context: TLSContext, serverName: String? = nil) throws {
    self.socket = socket
    self.context = context
    peer = serverName ?? "peer"
    guard let ssl = SSL_new(context.handle) else { throw TLSError.last("begin TLS") }
    self.ssl = ssl
    self.bio = SocketBIO(descriptor: socket.descriptor)
    // All properties are set, so `deinit` frees the connection if a later line throws.
    let bio = try self.bio.makeBIO()
    // SSL_set_bio(3) takes one reference if both arguments are the same BIO.
    SSL_set_bio(ssl, bio, bio)
    if context.isServer {
      SSL_set_accept_state(ssl)
    } else {
      SSL_set_connect_state(ssl)
      if let serverName { try expect(serverName) }
    }
  }

  deinit { SSL_free(ssl) }

  public var descriptor: Int32 { socket.descriptor }

  /// Protocol that ALPN selected, or `nil` for none; known after the handshake.
  public var negotiatedProtocol: String? { ForeignTLS.negotiatedProtocol(of: ssl) }

  /// TLS version of the connection, such as `TLSv1.3`; known after the handshake.
  public var version: String { String(cString: SSL_get_version(ssl)) }

  /// Certificate of the peer, or `nil` if it has none; known after the handshake.
  public var peerCertificate: PeerCertificate? {
    // SSL_get1_peer_certificate(3) returns a new reference.
    guard let certificate = SSL_get1_peer_certificate(ssl) else { return nil }
    defer { X509_free(certificate) }
    return PeerCertificate(certificate)
  }

  public func handshake() throws -> IOResult? {
    if isReady { return nil }
    beginCall()
    let status = SSL_do_handshake(ssl)
    if status == 1 {
      isReady = true
      return nil
    }
    return try explain(status, "TLS handshake with \(peer)")
  }

  public func read(into buffer: UnsafeMutableRawBufferPointer) throws -> IOResult {
    beginCall()
    let count = SSL_read(ssl, buffer.baseAddress, Int32(clamping: buffer.count))
    return count > 0 ? .bytes(Int(count)) : try explain(count, "TLS read from \(peer)")
  }

  public func write(_ bytes: UnsafeRawBufferPointer) throws -> IOResult {
    beginCall()
    let count = SSL_write(ssl, bytes.baseAddress, Int32(clamping: bytes.count))
    return count > 0 ? .bytes(Int(count)) : try explain(count, "TLS write to \(peer)")
  }

  /// Notifies the peer that no more bytes will be sent (close_notify); reading is still possible. The call never blocks
  /// and ignores errors.
  public func finishWriting() {
    guard isReady else { return }
    ERR_clear_error()
    // SSL_shutdown(3) returns 0 after the alert was sent. Its manual forbids a call after a fatal error; such a call
    // only returns -1 and has no effect here.
    SSL_shutdown(ssl)
    ERR_clear_error()
  }

  private func expect(_ name: String) throws {
    // X509_VERIFY_PARAM_set1_ip_asc(3) returns 0 for a text that is not an address, without another effect.
    if X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(ssl), name) == 1 { return }
    ERR_clear_error()
    guard SSL_set1_host(ssl, name) == 1, carillon_ssl_set_server_name(ssl, name) == 1 else {
      throw TLSError.last("expect the host name \(name)")
    }
  }

  /// Prepares a call of OpenSSL that may receive bytes.
  func beginCall() {
    // SSL_get_error(3) reads this thread's error queue, so the queue must be empty before each call whose result it
    // explains.
    ERR_clear_error()
    bio.beginCall()
  }

  /// Returns what a call of OpenSSL that was not completed waits for, or throws its error.
  func explain(_ status: Int32, _ operation: @autoclosure () -> String) throws -> IOResult {
    let systemError = errno
    switch SSL_get_error(ssl, status) {
    case SSL_ERROR_WANT_READ: return .wantsRead
    case SSL_ERROR_WANT_WRITE: return .wantsWrite
    case SSL_ERROR_ZERO_RETURN: return .closed
    case SSL_ERROR_SYSCALL:
      throw TLSError(operation: operation(), reason: String(cString: strerror(systemError)))
    default:
      var error = TLSError.last(operation())
      // Reads the cause from the result of the verification, because the text "certificate verify failed" does not name
      // it.
      let verification = SSL_get_verify_result(ssl)
      if !isReady, verification != Int(X509_V_OK) {
        error.certificateProblem = .init(verification: verification)
        error.reason += " (\(String(cString: X509_verify_cert_error_string(verification))))"
      }
      throw error
    }
  }
}
