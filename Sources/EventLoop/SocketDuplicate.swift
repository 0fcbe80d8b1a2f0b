internal import Glibc

extension Socket {
  /// Returns a second descriptor for a socket that a C library owns, so that a ``SocketWatcher`` can watch the socket.
  ///
  /// The library may close its own descriptor at any time. The duplicate's number can't be reused for another socket
  /// before the ``SocketWatcher`` has closed it.
  public static func duplicate(of descriptor: Int32) throws -> Socket {
    // F_DUPFD_CLOEXEC (fcntl(2)): the lowest free number, not inherited by child processes.
    let copy = fcntl(descriptor, F_DUPFD_CLOEXEC, 0)
    guard copy >= 0 else { throw SocketError.last("duplicate socket") }
    return Socket(descriptor: copy)
  }
}
