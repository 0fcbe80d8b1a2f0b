import Dispatch
import Glibc
import Synchronization

/// Standard error, unbuffered, or written by a thread of its own.
package enum StandardError {
  private static let writer = Mutex<DescriptorWriter?>(nil)

  /// How long the end of a process waits for a reader of its last lines. Within a second every reader that reads at all
  /// takes what a pipe holds (64 KiB); who waits for the end of a worker hardly notices it.
  private static let lastWait = DispatchTimeInterval.seconds(1)

  /// From now on writing never waits: a thread writes, and what it gets no rid of is dropped and counted.
  ///
  /// For whatever must go on when nobody reads: commands that run until they are stopped, and the progress of long ones.
  /// Other commands wait for their readers, as programs do: what they say is part of their result.
  package static func detach() {
    writer.withLock { writer in
      if writer == nil { writer = DescriptorWriter(STDERR_FILENO) { LineLogHandler.notice(dropped: $0) } }
    }
  }

  /// Lines that were dropped.
  package static var dropped: Int { writer.withLock { $0 }?.dropped ?? 0 }

  /// Writes a text with one system call where the system allows it: lines of several threads don't mix. What can't be
  /// written is lost, as there is nowhere left to say so.
  package static func write(_ text: String) {
    if let writer = writer.withLock({ $0 }) { return writer.write(text) }
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

  /// Waits a moment for what was written to reach its reader. For the end of the process, and before somebody is asked.
  package static func flush() { writer.withLock { $0 }?.flush(within: lastWait) }
}
