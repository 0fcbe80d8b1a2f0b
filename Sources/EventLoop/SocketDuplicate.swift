internal import Glibc

extension Socket {
  /// A second descriptor of a socket that a C library owns, to watch it by.
  ///
  /// The library may close its own descriptor whenever it likes: this one is watched, whose number can't become another
  /// socket's before the ``SocketWatcher`` has closed it.
  public static func duplicate(of descriptor: Int32) throws -> Socket {
    // F_DUPFD_CLOEXEC (fcntl(2)): the lowest free number, not inherited by children.
    let copy = fcntl(descriptor, F_DUPFD_CLOEXEC, 0)
    guard copy >= 0 else { throw SocketError.last("duplicate socket") }
    return Socket(descriptor: copy)
  }
}
