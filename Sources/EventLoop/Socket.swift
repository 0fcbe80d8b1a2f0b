import Glibc

/// Non-blocking TCP socket that owns its descriptor.
///
/// Confined to one loop. The descriptor is closed by ``close()`` or with the last reference. If a ``SocketWatcher``
/// watches the socket, close it through the watcher, which ends the watch first.
public final class Socket: ByteStream {
  public private(set) var descriptor: Int32

  init(descriptor: Int32) {
    self.descriptor = descriptor
  }

  /// Begins to connect. The socket becomes writable when the attempt has ended; ``connectionError()`` then returns the
  /// result.
  public static func connect(to address: SocketAddress) throws -> Socket {
    let socket = try open(address)
    socket.setNoDelay()
    let status = address.withSockaddr { Glibc.connect(socket.descriptor, $0, $1) }
    guard status == 0 || errno == EINPROGRESS else { throw SocketError.last("connect to \(address)") }
    return socket
  }

  /// Maximum number of connections that the kernel completes before ``accept()`` takes them. The connections of a fleet
  /// may all arrive at the same moment.
  private static let backlog: Int32 = 1024

  /// Listens at `address`, with `SO_REUSEADDR`.
  public static func listen(at address: SocketAddress) throws -> Socket {
    let socket = try open(address)
    var yes: Int32 = 1
    setsockopt(socket.descriptor, SOL_SOCKET, SO_REUSEADDR, &yes, socklen_t(MemoryLayout<Int32>.size))
    guard address.withSockaddr({ bind(socket.descriptor, $0, $1) }) == 0 else {
      throw SocketError.last("listen at \(address)")
    }
    guard Glibc.listen(socket.descriptor, Self.backlog) == 0 else {
      throw SocketError.last("listen at \(address)")
    }
    return socket
  }

  /// Returns the next completed connection; `nil` if there is none at the moment.
  public func accept() throws -> sending Socket? {
    let peer = Glibc.accept(descriptor, nil, nil)
    guard peer >= 0 else {
      // ECONNABORTED: the peer closed the connection before it was accepted (accept(2)); the listener itself still
      // works.
      if errno == EAGAIN || errno == EINTR || errno == ECONNABORTED { return nil }
      throw SocketError.last("accept")
    }
    let socket = Socket(descriptor: peer)
    // These two calls replace accept4(2), which Swift's Glibc module does not have, because it is built without
    // _GNU_SOURCE.
    _ = fcntl(peer, F_SETFL, O_NONBLOCK)
    _ = fcntl(peer, F_SETFD, FD_CLOEXEC)
    socket.setNoDelay()
    return socket
  }

  /// Returns the address of this socket, with the port that the system chose if 0 was requested.
  public func localAddress() throws -> SocketAddress {
    var storage = sockaddr_storage()
    var length = socklen_t(MemoryLayout<sockaddr_storage>.size)
    let status = withUnsafeMutablePointer(to: &storage) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { getsockname(descriptor, $0, &length) }
    }
    guard status == 0 else { throw SocketError.last("getsockname") }
    return SocketAddress(storage: storage, length: length)
  }

  /// Returns the result of the attempt that ``connect(to:)`` began; `nil` for success.
  public func connectionError() -> SocketError? {
    var code: Int32 = 0
    var length = socklen_t(MemoryLayout<Int32>.size)
    getsockopt(descriptor, SOL_SOCKET, SO_ERROR, &code, &length)
    return code == 0 ? nil : SocketError.coded("connect", code)
  }

  public func handshake() -> IOResult? { nil }

  public func read(into buffer: UnsafeMutableRawBufferPointer) throws -> IOResult {
    let count = recv(descriptor, buffer.baseAddress, buffer.count, 0)
    if count > 0 { return .bytes(count) }
    if count == 0 { return .closed }
    if errno == EAGAIN || errno == EINTR { return .wantsRead }
    throw SocketError.last("read")
  }

  public func write(_ bytes: UnsafeRawBufferPointer) throws -> IOResult {
    let count = send(descriptor, bytes.baseAddress, bytes.count, Int32(MSG_NOSIGNAL))
    if count > 0 { return .bytes(count) }
    if count == 0 || errno == EAGAIN || errno == EINTR { return .wantsWrite }
    throw SocketError.last("write")
  }

  /// Notifies the peer that no more bytes will be sent (FIN); reading continues to work.
  public func finishWriting() { shutdown(descriptor, Int32(SHUT_WR)) }

  /// Makes the next close reset the connection (RST), regardless of unsent bytes.
  public func resetOnClose() {
    // SO_LINGER is on, with a time of zero (socket(7)).
    var now = linger(l_onoff: 1, l_linger: 0)
    setsockopt(descriptor, SOL_SOCKET, SO_LINGER, &now, socklen_t(MemoryLayout<linger>.size))
  }

  /// Closes the descriptor. Idempotent.
  public func close() {
    guard descriptor >= 0 else { return }
    _ = Glibc.close(descriptor)
    descriptor = -1
  }

  deinit { close() }

  private static func open(_ address: SocketAddress) throws -> Socket {
    let type = Int32(SOCK_STREAM.rawValue) | Int32(SOCK_NONBLOCK.rawValue) | Int32(SOCK_CLOEXEC.rawValue)
    let descriptor = socket(address.family, type, 0)
    guard descriptor >= 0 else { throw SocketError.last("socket") }
    return Socket(descriptor: descriptor)
  }

  private func setNoDelay() {
    var yes: Int32 = 1
    setsockopt(descriptor, Int32(IPPROTO_TCP), TCP_NODELAY, &yes, socklen_t(MemoryLayout<Int32>.size))
  }
}

extension SocketAddress {
  func withSockaddr(_ body: (UnsafePointer<sockaddr>, socklen_t) -> Int32) -> Int32 {
    var copy = storage
    return withUnsafePointer(to: &copy) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { body($0, length) }
    }
  }
}
