import Glibc

/// Reduces the size of a pipe from 65,536 to 4,096 bytes, the smallest possible size (fcntl(2), `F_SETPIPE_SZ`).
///
/// - Returns: whether the size was set.
public func narrowPipe(_ descriptor: Int32) -> Bool {
  // The number of F_SETPIPE_SZ, which Glibc's module does not export.
  fcntl(descriptor, 1031, 4096) == 4096
}
