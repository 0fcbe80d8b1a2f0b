internal import COpenSSL
private import Glibc

/// OpenSSL's interface to a socket. It works like OpenSSL's own socket BIO, but writes with `MSG_NOSIGNAL`.
///
/// The BIO of `SSL_set_fd` uses write(2), so a write to a closed connection would kill the process with SIGPIPE. This
/// module must not ignore that signal for the whole process.
///
/// One call of OpenSSL receives a limited number of bytes. A read of OpenSSL returns only when it has data of the peer,
/// and handles all other messages (KeyUpdate, NewSessionTicket, HelloRequest) before it returns. Without the limit, a
/// peer that sends such messages without end would block the thread. (OpenSSL itself ends a connection after 32 empty
/// records, or 5 warnings.)
final class SocketBIO {
  fileprivate let descriptor: Int32
  /// Number of bytes that the present call of OpenSSL may still receive. The last receive may exceed this number.
  fileprivate var allowance = 0

  /// Limit for one call in bytes: a full read buffer, which has room for four complete records. It can contain 2,500
  /// KeyUpdate messages, which take about 40 ms.
  private static let maximumBytes = TLSContext.readBuffer

  /// - Parameter descriptor: the caller still owns the descriptor and closes it.
  init(descriptor: Int32) { self.descriptor = descriptor }

  /// Returns a BIO. This object must outlive it.
  func makeBIO() throws -> OpaquePointer {
    guard let method = Self.method.pointer, let bio = BIO_new(method) else { throw TLSError.last("make a socket BIO") }
    BIO_set_data(bio, Unmanaged.passUnretained(self).toOpaque())
    BIO_set_init(bio, 1)
    return bio
  }

  /// Begins a call of OpenSSL. When the call has received the maximum number of bytes, this BIO reports that the socket
  /// is empty. A level-triggered watcher then reports the socket as readable again.
  func beginCall() { allowance = Self.maximumBytes }

  private static let method = Method()

  /// `@unchecked Sendable` is sound because the method table never changes after `init` (BIO_meth_new(3)).
  private final class Method: @unchecked Sendable {
    let pointer: OpaquePointer?

    init() {
      pointer = BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "carillon socket")
      guard let pointer else { return }
      BIO_meth_set_read(pointer, readSocket)
      BIO_meth_set_write(pointer, writeSocket)
      BIO_meth_set_ctrl(pointer, controlSocket)
    }
  }
}

/// Returns the object of a BIO. The TLSStream keeps a reference to the object.
private func socket(_ bio: OpaquePointer?) -> SocketBIO? {
  BIO_get_data(bio).map { Unmanaged<SocketBIO>.fromOpaque($0).takeUnretainedValue() }
}

private func readSocket(bio: OpaquePointer?, buffer: UnsafeMutablePointer<CChar>?, count: Int32) -> Int32 {
  carillon_bio_clear_retry(bio)
  guard let socket = socket(bio), socket.allowance > 0 else {
    carillon_bio_retry_read(bio)
    return -1
  }
  let result = recv(socket.descriptor, buffer, Int(count), 0)
  socket.allowance -= max(0, result)
  // BIO_should_retry(3): the flags, not the return value, distinguish a would-block condition from an error.
  if result < 0, errno == EAGAIN || errno == EINTR { carillon_bio_retry_read(bio) }
  if result == 0, count > 0 { BIO_set_flags(bio, BIO_FLAGS_IN_EOF) }
  return Int32(result)
}

private func writeSocket(bio: OpaquePointer?, bytes: UnsafePointer<CChar>?, count: Int32) -> Int32 {
  carillon_bio_clear_retry(bio)
  guard let socket = socket(bio) else { return -1 }
  let result = send(socket.descriptor, bytes, Int(count), Int32(MSG_NOSIGNAL))
  if result < 0, errno == EAGAIN || errno == EINTR { carillon_bio_retry_write(bio) }
  return Int32(result)
}

private func controlSocket(bio: OpaquePointer?, command: Int32, _: Int, _: UnsafeMutableRawPointer?) -> Int {
  switch command {
  // libssl flushes after every flight and treats every result except success as a failure. This BIO buffers nothing.
  case BIO_CTRL_FLUSH: 1
  // With this result, libssl distinguishes an end of file from a system error (BIO_eof(3)).
  case BIO_CTRL_EOF: Int(BIO_test_flags(bio, BIO_FLAGS_IN_EOF) == 0 ? 0 : 1)
  default: 0
  }
}
