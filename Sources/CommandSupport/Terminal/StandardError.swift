import Glibc

/// Standard error, unbuffered.
package enum StandardError {
  /// Writes a text with one system call where the system allows it: lines of several threads don't mix. What can't be
  /// written is lost, as there is nowhere left to say so.
  package static func write(_ text: String) {
    let bytes = Array(text.utf8)
    var written = 0
    while written < bytes.count {
      // write(2), as in StandardOutput.
      let count = bytes.withUnsafeBytes { buffer in
        Glibc.write(STDERR_FILENO, buffer.baseAddress.map { $0 + written }, buffer.count - written)
      }
      guard count >= 0 || errno == EINTR else { return }
      written += max(0, count)
    }
  }
}
