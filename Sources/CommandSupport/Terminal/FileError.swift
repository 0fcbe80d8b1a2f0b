import Glibc

/// A file that can't be opened, read or written.
package struct FileError: Error {
  package var path: String
  /// The text of strerror(3).
  package var reason: String
  /// Whether the reader of the pipe is gone.
  package var isBrokenPipe: Bool

  package init(path: String, reason: String, isBrokenPipe: Bool = false) {
    self.path = path
    self.reason = reason
    self.isBrokenPipe = isBrokenPipe
  }

  /// Returns the error for `errno`. Call it immediately after the failed system call.
  package static func last(_ path: String) -> FileError {
    let code = errno
    // strerror(3): the text is valid until the next call of strerror(3) in this thread, so it is copied here.
    return FileError(path: path, reason: String(cString: strerror(code)), isBrokenPipe: code == EPIPE)
  }
}
