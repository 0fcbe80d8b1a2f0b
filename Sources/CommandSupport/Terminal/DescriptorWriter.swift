package import Dispatch
import Foundation
import Glibc
import Synchronization

/// Writes texts to a file descriptor on a separate thread, so that a blocked reader or a full disk does not block
/// callers.
///
/// The descriptor stays in blocking mode. `O_NONBLOCK` belongs to the open file description (fcntl(2)), which other
/// processes may share: a terminal, or a pipe that several workers share as their log.
///
/// If the buffer is full, or if a write fails, the whole text is dropped and counted. When the descriptor accepts texts
/// again, a notice reports the number of dropped texts.
package final class DescriptorWriter: Sendable {
  private enum Entry {
    case text([UInt8])
    /// A gap: this number of texts was dropped here.
    case gap(Int)
  }

  private struct State {
    var entries: [Entry] = []
    /// Bytes of accepted texts that are not written yet.
    var size = 0
    /// Whether the buffer was full. In that case, the writer drops texts until half of the buffer is free. A slow
    /// reader therefore gets one notice for many dropped texts.
    var isFull = false
    /// Texts that were dropped since the latest notice.
    var gap = 0
    /// Texts that were dropped since the beginning.
    var dropped = 0
    /// Whether the latest write failed.
    var isFailing = false
    /// Whether the thread has nothing to do.
    var isIdle = true
    var waiters: [DispatchSemaphore] = []
  }

  /// Size of the buffer in bytes: about 5,000 lines, which a worker logs in an hour. The size is small compared with
  /// the 50 MB of a worker.
  static let capacity = 1 << 20

  private let descriptor: Int32
  private let notice: @Sendable (Int) -> String
  private let state = Mutex(State())
  private let work = DispatchSemaphore(value: 0)

  /// - Parameters:
  ///   - descriptor: a descriptor that stays open as long as the process runs.
  ///   - notice: returns the notice for a number of dropped texts.
  package init(_ descriptor: Int32, notice: @escaping @Sendable (Int) -> String) {
    self.descriptor = descriptor
    self.notice = notice
    let thread = Thread { [self] in run() }
    thread.name = "writer \(descriptor)"
    thread.start()
  }

  /// Number of dropped texts.
  package var dropped: Int { state.withLock { $0.dropped } }

  /// Accepts a text without waiting. Texts are written whole and in order. A text of at most 4,096 bytes does not mix
  /// with texts of other processes (pipe(7), `PIPE_BUF`).
  package func write(_ text: String) {
    let bytes = Array(text.utf8)
    let wakes = state.withLock { state in
      if state.size <= Self.capacity / 2 { state.isFull = false }
      if bytes.count > Self.capacity - state.size { state.isFull = true }
      guard !state.isFull else {
        state.gap += 1
        state.dropped += 1
        return false
      }
      if state.gap > 0, !state.isFailing {
        state.entries.append(.gap(state.gap))
        state.gap = 0
      }
      state.entries.append(.text(bytes))
      state.size += bytes.count
      defer { state.isIdle = false }
      return state.isIdle
    }
    if wakes { work.signal() }
  }

  /// Waits until all accepted texts are written or dropped, but not longer than `limit`.
  package func flush(within limit: DispatchTimeInterval) {
    let done = DispatchSemaphore(value: 0)
    let isDone = state.withLock { state in
      if !state.isIdle { state.waiters.append(done) }
      return state.isIdle
    }
    if !isDone { _ = done.wait(timeout: .now() + limit) }
  }

  private func run() {
    while true {
      let (entries, waiters) = state.withLock { state -> ([Entry], [DispatchSemaphore]) in
        if state.entries.isEmpty, state.gap > 0, !state.isFailing {
          state.entries = [.gap(state.gap)]
          state.gap = 0
        }
        guard state.entries.isEmpty else {
          defer { state.entries = [] }
          return (state.entries, [])
        }
        state.isIdle = true
        defer { state.waiters = [] }
        return ([], state.waiters)
      }
      for waiter in waiters { waiter.signal() }
      for entry in entries { put(entry) }
      if entries.isEmpty { work.wait() }
    }
  }

  private func put(_ entry: Entry) {
    switch entry {
    case .text(let bytes):
      let isWritten = write(bytes)
      state.withLock { state in
        state.size -= bytes.count
        state.isFailing = !isWritten
        guard !isWritten else { return }
        state.gap += 1
        state.dropped += 1
      }
    case .gap(let count):
      let isWritten = write(Array(notice(count).utf8))
      state.withLock { state in
        state.isFailing = !isWritten
        if !isWritten { state.gap += count }
      }
    }
  }

  /// Writes all bytes to the descriptor.
  ///
  /// - Returns: false if the write failed: the reader is gone, the disk is full or the descriptor is closed.
  private func write(_ bytes: [UInt8]) -> Bool {
    var written = 0
    while written < bytes.count {
      // write(2) returns the number of written bytes, which may be smaller than the buffer, or -1 with errno. The
      // buffer is valid within the closure.
      let count = bytes.withUnsafeBytes { buffer in
        Glibc.write(descriptor, buffer.baseAddress.map { $0 + written }, buffer.count - written)
      }
      if count >= 0 {
        written += count
      } else if errno == EAGAIN {
        // Another process that shares the descriptor has made it non-blocking. poll(2) waits until the descriptor
        // accepts bytes.
        var wanted = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
        poll(&wanted, 1, -1)
      } else if errno != EINTR {
        return false
      }
    }
    return true
  }
}
