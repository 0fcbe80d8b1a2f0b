import Glibc

/// Makes a pipe hold 4,096 bytes, the smallest size that there is, instead of 65,536 (fcntl(2), `F_SETPIPE_SZ`).
///
/// - Returns: whether it does.
public func narrowPipe(_ descriptor: Int32) -> Bool {
  // The number of F_SETPIPE_SZ, which Glibc's module does not show.
  fcntl(descriptor, 1031, 4096) == 4096
}
