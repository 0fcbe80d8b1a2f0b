internal import COpenSSL
private import Glibc

/// OpenSSL's interface to a socket: like its own socket BIO, but writing with `MSG_NOSIGNAL`.
///
/// The BIO of `SSL_set_fd` uses write(2), so a closed connection would kill the process with SIGPIPE. A library must
/// not ignore that signal for the whole process.
enum SocketBIO {
  /// Returns a BIO over `descriptor`; the caller still owns the descriptor and closes it.
  static func make(descriptor: Int32) throws -> OpaquePointer {
    guard let method = method.pointer, let bio = BIO_new(method) else { throw TLSError.last("make a socket BIO") }
    // The BIO's data is the descriptor itself, so there is no memory to free. Descriptor 0 would be null, hence the
    // offset.
    BIO_set_data(bio, UnsafeMutableRawPointer(bitPattern: Int(descriptor) + 1))
    BIO_set_init(bio, 1)
    return bio
  }

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

private func descriptor(_ bio: OpaquePointer?) -> Int32 {
  Int32(Int(bitPattern: BIO_get_data(bio)) - 1)
}

private func readSocket(bio: OpaquePointer?, buffer: UnsafeMutablePointer<CChar>?, count: Int32) -> Int32 {
  carillon_bio_clear_retry(bio)
  let result = recv(descriptor(bio), buffer, Int(count), 0)
  // BIO_should_retry(3): the flags, not the return value, distinguish a would-block condition from an error.
  if result < 0, errno == EAGAIN || errno == EINTR { carillon_bio_retry_read(bio) }
  if result == 0, count > 0 { BIO_set_flags(bio, BIO_FLAGS_IN_EOF) }
  return Int32(result)
}

private func writeSocket(bio: OpaquePointer?, bytes: UnsafePointer<CChar>?, count: Int32) -> Int32 {
  carillon_bio_clear_retry(bio)
  let result = send(descriptor(bio), bytes, Int(count), Int32(MSG_NOSIGNAL))
  if result < 0, errno == EAGAIN || errno == EINTR { carillon_bio_retry_write(bio) }
  return Int32(result)
}

private func controlSocket(bio: OpaquePointer?, command: Int32, _: Int, _: UnsafeMutableRawPointer?) -> Int {
  switch command {
  // libssl flushes after every flight and treats every result except success as a failure. Nothing is buffered here.
  case BIO_CTRL_FLUSH: 1
  // With this result, libssl distinguishes an end of file from a system error (BIO_eof(3)).
  case BIO_CTRL_EOF: Int(BIO_test_flags(bio, BIO_FLAGS_IN_EOF) == 0 ? 0 : 1)
  default: 0
  }
}
