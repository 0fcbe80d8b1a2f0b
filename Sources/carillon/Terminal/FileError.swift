import Glibc

/// A file that can't be opened, read or written.
struct FileError: Error {
  var path: String
  /// The system's own words.
  var reason: String
  /// Whether whoever read from us has gone.
  var isBrokenPipe = false

  /// What `errno` says; to be made right after the failed call.
  static func last(_ path: String) -> FileError {
    let code = errno
    // strerror(3): the text is valid until the next call of this thread; it is copied here.
    return FileError(path: path, reason: String(cString: strerror(code)), isBrokenPipe: code == EPIPE)
  }
}
