import Glibc

/// A file that can't be opened, read or written.
package struct FileError: Error {
  package var path: String
  /// The system's own words.
  package var reason: String
  /// Whether whoever read from us has gone.
  package var isBrokenPipe: Bool

  package init(path: String, reason: String, isBrokenPipe: Bool = false) {
    self.path = path
    self.reason = reason
    self.isBrokenPipe = isBrokenPipe
  }

  /// What `errno` says; to be made right after the failed call.
  package static func last(_ path: String) -> FileError {
    let code = errno
    // strerror(3): the text is valid until the next call of this thread; it is copied here.
    return FileError(path: path, reason: String(cString: strerror(code)), isBrokenPipe: code == EPIPE)
  }
}
