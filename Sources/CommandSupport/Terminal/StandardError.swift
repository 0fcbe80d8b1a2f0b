import Dispatch
import Glibc
import Synchronization

/// Standard error, written directly or by a separate thread.
package enum StandardError {
  private static let writer = Mutex<DescriptorWriter?>(nil)

  /// Maximum time for which a process waits at its end until the reader has the last lines. Every active reader reads
  /// the content of a pipe (64 KiB) within a second, and an operator hardly notices such a delay.
  private static let lastWait = DispatchTimeInterval.seconds(1)

  /// Starts a separate thread that writes from now on, so that ``write(_:)`` never waits. Lines that the thread can't
  /// write are dropped and counted.
  ///
  /// This is for commands that must not block if the reader stops reading: long-running commands and progress output.
  /// Other commands wait for their readers, because their messages are part of the result.
  package static func detach() {
    writer.withLock { writer in
      if writer == nil { writer = DescriptorWriter(STDERR_FILENO) { LineLogHandler.notice(dropped: $0) } }
    }
  }

  /// Number of dropped lines.
  package static var dropped: Int { writer.withLock { $0 }?.dropped ?? 0 }

  /// Writes a text with one system call if the system allows it, so that lines of several threads don't mix. A text
  /// that can't be written is lost, because there is no other place for an error message.
  package static func write(_ text: String) {
    if let writer = writer.withLock({ $0 }) { return writer.write(text) }
    let bytes = Array(text.utf8)
    var written = 0
    while written < bytes.count {
      // write(2): see `StandardOutput`.
      let count = bytes.withUnsafeBytes { buffer in
        Glibc.write(STDERR_FILENO, buffer.baseAddress.map { $0 + written }, buffer.count - written)
      }
      guard count >= 0 || errno == EINTR else { return }
      written += max(0, count)
    }
  }

  /// Waits until the written texts have reached the reader, but not longer than ``lastWait``. Call it at the end of the
  /// process and before a question.
  package static func flush() { writer.withLock { $0 }?.flush(within: lastWait) }
}
