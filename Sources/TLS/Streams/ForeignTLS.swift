internal import COpenSSL

/// Functions for TLS connections of another library in this process that uses the same OpenSSL.
public enum ForeignTLS {
  /// Returns the protocol that ALPN selected; `nil` if the server named none.
  ///
  /// - Parameter ssl: a live `SSL *` whose handshake is done.
  public static func negotiatedProtocol(of ssl: UnsafeMutableRawPointer) -> String? {
    negotiatedProtocol(of: OpaquePointer(ssl))
  }

  static func negotiatedProtocol(of ssl: OpaquePointer) -> String? {
    var name: UnsafePointer<UInt8>?
    var count: UInt32 = 0
    // SSL_get0_alpn_selected(3): the text has no zero at its end, and belongs to the connection.
    SSL_get0_alpn_selected(ssl, &name, &count)
    guard let name, count > 0 else { return nil }
    return String(decoding: UnsafeBufferPointer(start: name, count: Int(count)), as: UTF8.self)
  }
}

/// Observer that reports each TLS record that another library reads.
///
/// Confined to the thread on which the other library reads. The observer must outlive the connections of the contexts
/// that it observes.
public final class RecordObserver {
  private let onRecord: (_ bytes: Int) -> Void

  /// - Parameter onRecord: called with the length of a record after its header was read, within a read of the other
  ///   library. It must not call that library.
  public init(onRecord: @escaping (_ bytes: Int) -> Void) { self.onRecord = onRecord }

  /// Watches all connections that are made from a context from now on.
  ///
  /// - Parameter context: a live `SSL_CTX *`.
  public func install(in context: UnsafeMutableRawPointer) {
    let context = OpaquePointer(context)
    SSL_CTX_set_msg_callback(context, receiveRecord)
    // SSL_CTX_set_msg_callback_arg is a macro that calls SSL_CTX_ctrl (SSL_CTX_set_msg_callback(3)).
    SSL_CTX_ctrl(context, SSL_CTRL_SET_MSG_CALLBACK_ARG, 0, Unmanaged.passUnretained(self).toOpaque())
  }

  fileprivate func report(bytes: Int) { onRecord(bytes) }
}

/// Callback for SSL_CTX_set_msg_callback(3). OpenSSL calls it with the header of every record, as content of the type
/// `SSL3_RT_HEADER`. The header has the type, the version, and the length in two bytes (RFC 8446 section 5.1).
private func receiveRecord(
  isWritten: Int32, _: Int32, contentType: Int32, bytes: UnsafeRawPointer?, count: Int, _: OpaquePointer?,
  observer: UnsafeMutableRawPointer?
) {
  guard isWritten == 0, contentType == SSL3_RT_HEADER, count >= 5, let bytes, let observer else { return }
  let length =
    Int(bytes.load(fromByteOffset: 3, as: UInt8.self)) << 8 | Int(bytes.load(fromByteOffset: 4, as: UInt8.self))
  Unmanaged<RecordObserver>.fromOpaque(observer)._withUnsafeGuaranteedRef { $0.report(bytes: length) }
}
