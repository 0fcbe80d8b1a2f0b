internal import COpenSSL
private import Glibc

/// OpenSSL's view of a socket: like its own socket BIO, but writing with `MSG_NOSIGNAL`.
///
/// The BIO of `SSL_set_fd` uses write(2), and a peer that is gone would then kill the process with SIGPIPE; ignoring the
/// signal for the whole process is not a library's decision.
enum SocketBIO {
  /// A BIO over `descriptor`, which stays the caller's to close.
  static func make(descriptor: Int32) throws -> OpaquePointer {
    guard let method = method.pointer, let bio = BIO_new(method) else { throw TLSError.last("make a socket BIO") }
    // The descriptor itself is the BIO's data: no memory to own. Zero would be null, hence the offset.
    BIO_set_data(bio, UnsafeMutableRawPointer(bitPattern: Int(descriptor) + 1))
    BIO_set_init(bio, 1)
    return bio
  }

  private static let method = Method()

  /// `@unchecked Sendable` is sound because the method table is never changed after `init` (BIO_meth_new(3)).
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
  // BIO_should_retry(3): the flags, not the return value, tell a would-block from an error.
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
  // libssl flushes after every flight and takes anything but success for a failure; there is nothing buffered here.
  case BIO_CTRL_FLUSH: 1
  // What tells libssl an end of file from an error of the system (BIO_eof(3)).
  case BIO_CTRL_EOF: Int(BIO_test_flags(bio, BIO_FLAGS_IN_EOF) == 0 ? 0 : 1)
  default: 0
  }
}
