internal import COpenSSL
public import EventLoop
private import Glibc

/// TLS over a connected ``EventLoop/Socket``.
///
/// Confined to the socket's loop. Bytes may wait inside OpenSSL while the socket has nothing to read, so read until
/// ``EventLoop/IOResult/wantsRead`` before waiting for the socket again.
public final class TLSStream: ByteStream {
  private let socket: Socket
  private let context: TLSContext
  private let ssl: OpaquePointer
  /// For what else is asked of the connection.
  var handle: OpaquePointer { ssl }
  private let peer: String
  private var isReady = false

  /// - Parameters:
  ///   - socket: connected, or accepted from a listener; closing it stays the caller's business.
  ///   - context: decides the role.
  ///   - serverName: clients: the host name (or literal address) that the certificate must carry, sent as SNI unless it
  ///     is an address. `nil` checks no name: only for a peer whose certificate is itself the trust root.
  /// - Throws: ``TLSError`` when OpenSSL is out of memory or the name is not a name.
  public init(_ socket: Socket, context: TLSContext, serverName: String? = nil) throws {
    self.socket = socket
    self.context = context
    peer = serverName ?? "peer"
    guard let ssl = SSL_new(context.handle) else { throw TLSError.last("begin TLS") }
    self.ssl = ssl
    do {
      let bio = try SocketBIO.make(descriptor: socket.descriptor)
      // SSL_set_bio(3) takes over one reference when both arguments are the same BIO.
      SSL_set_bio(ssl, bio, bio)
      if context.isServer {
        SSL_set_accept_state(ssl)
      } else {
        SSL_set_connect_state(ssl)
        if let serverName { try expect(serverName) }
      }
    } catch {
      SSL_free(ssl)
      throw error
    }
  }

  deinit { SSL_free(ssl) }

  public var descriptor: Int32 { socket.descriptor }

  /// The protocol that ALPN settled on, or `nil` when none was; known once the handshake is done.
  public var negotiatedProtocol: String? { ForeignTLS.negotiatedProtocol(of: ssl) }

  /// The version in use, such as `TLSv1.3`; known once the handshake is done.
  public var version: String { String(cString: SSL_get_version(ssl)) }

  /// What the other side showed, or `nil` when it showed no certificate; known once the handshake is done.
  public var peerCertificate: PeerCertificate? {
    // SSL_get1_peer_certificate(3) gives a reference of its own.
    guard let certificate = SSL_get1_peer_certificate(ssl) else { return nil }
    defer { X509_free(certificate) }
    return PeerCertificate(certificate)
  }

  public func handshake() throws -> IOResult? {
    if isReady { return nil }
    // SSL_get_error(3) looks at this thread's error queue, so it must be empty before each call it explains.
    ERR_clear_error()
    let status = SSL_do_handshake(ssl)
    if status == 1 {
      isReady = true
      return nil
    }
    return try explain(status, "TLS handshake with \(peer)")
  }

  public func read(into buffer: UnsafeMutableRawBufferPointer) throws -> IOResult {
    ERR_clear_error()
    let count = SSL_read(ssl, buffer.baseAddress, Int32(clamping: buffer.count))
    return count > 0 ? .bytes(Int(count)) : try explain(count, "TLS read from \(peer)")
  }

  public func write(_ bytes: UnsafeRawBufferPointer) throws -> IOResult {
    ERR_clear_error()
    let count = SSL_write(ssl, bytes.baseAddress, Int32(clamping: bytes.count))
    return count > 0 ? .bytes(Int(count)) : try explain(count, "TLS write to \(peer)")
  }

  /// Tells the peer that no more bytes will come (close_notify); reading stays possible. Best effort, never blocks.
  public func finishWriting() {
    guard isReady else { return }
    ERR_clear_error()
    // SSL_shutdown(3): 0 after the alert was sent; must not be called after a fatal error, when it only returns -1 here.
    SSL_shutdown(ssl)
    ERR_clear_error()
  }

  private func expect(_ name: String) throws {
    // X509_VERIFY_PARAM_set1_ip_asc(3) returns 0 for what is no address, without other effect.
    if X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(ssl), name) == 1 { return }
    ERR_clear_error()
    guard SSL_set1_host(ssl, name) == 1, carillon_ssl_set_server_name(ssl, name) == 1 else {
      throw TLSError.last("expect the host name \(name)")
    }
  }

  private func explain(_ status: Int32, _ operation: @autoclosure () -> String) throws -> IOResult {
    let systemError = errno
    switch SSL_get_error(ssl, status) {
    case SSL_ERROR_WANT_READ: return .wantsRead
    case SSL_ERROR_WANT_WRITE: return .wantsWrite
    case SSL_ERROR_ZERO_RETURN: return .closed
    case SSL_ERROR_SYSCALL:
      throw TLSError(operation: operation(), reason: String(cString: strerror(systemError)))
    default:
      var error = TLSError.last(operation())
      // "certificate verify failed" alone doesn't say what to mend; the verification's own result does.
      let verification = SSL_get_verify_result(ssl)
      if !isReady, verification != Int(X509_V_OK) {
        error.certificateProblem = .init(verification: verification)
        error.reason += " (\(String(cString: X509_verify_cert_error_string(verification))))"
      }
      throw error
    }
  }
}
