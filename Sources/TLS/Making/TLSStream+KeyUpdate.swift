internal import COpenSSL
public import EventLoop

extension TLSStream {
  /// Sends a KeyUpdate message (RFC 8446 section 4.6.3). A test server uses it to test its clients. TLS 1.3 only.
  ///
  /// - Returns: `nil` when the message is sent; otherwise the condition to wait for before the next call, which
  ///   continues the operation.
  public func updateKeys() throws -> IOResult? {
    beginCall()
    // SSL_key_update(3): the next call of SSL_do_handshake sends the message. Until then, no other KeyUpdate can be
    // begun.
    if SSL_is_init_finished(handle) == 1, SSL_key_update(handle, SSL_KEY_UPDATE_NOT_REQUESTED) != 1 {
      throw TLSError.last("update the keys")
    }
    let status = SSL_do_handshake(handle)
    return status == 1 ? nil : try explain(status, "TLS key update")
  }
}
