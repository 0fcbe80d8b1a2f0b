import Glibc
import TextInput

/// A file, or standard input for `-`, read from front to back in chunks.
package final class InputFile {
  /// Size of a chunk in bytes. It is large enough that system calls cost little, and small enough for the CPU cache.
  package static let chunk = 1 << 16

  package let path: String
  /// The size in bytes of a regular file; `nil` for a pipe or a terminal.
  package let size: Int?
  /// The time of the last modification, in ns since 1970 (stat(3type)).
  package let modified: Int
  private let descriptor: Int32

  package init(_ path: String) throws(FileError) {
    self.path = path == "-" ? "standard input" : path
    // open(2) returns a descriptor, or -1 with errno.
    descriptor = path == "-" ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC)
    guard descriptor >= 0 else { throw FileError.last(path) }
    var status = stat()
    size = fstat(descriptor, &status) == 0 && status.st_mode & S_IFMT == S_IFREG ? Int(status.st_size) : nil
    modified = Int(status.st_mtim.tv_sec) * 1_000_000_000 + Int(status.st_mtim.tv_nsec)
  }

  deinit {
    if descriptor != STDIN_FILENO { close(descriptor) }
  }

  /// Returns the next bytes; empty at the end.
  package func read() throws(FileError) -> [UInt8] {
    while true {
      var failed = false
      let bytes = [UInt8](unsafeUninitializedCapacity: Self.chunk) { buffer, count in
        // read(2) returns the number of bytes that were read, 0 at the end, or -1 with errno.
        let read = Glibc.read(descriptor, buffer.baseAddress, buffer.count)
        failed = read < 0
        count = max(0, read)
      }
      guard failed else { return bytes }
      // read(2): EINTR means that a signal arrived before any data, so the call is repeated.
      guard errno == EINTR else { throw FileError.last(path) }
    }
  }

  /// Moves to another offset of a regular file.
  package func seek(to offset: Int) throws(FileError) {
    // lseek(2) returns the new offset, or -1 with errno.
    guard lseek(descriptor, off_t(offset), SEEK_SET) >= 0 else { throw FileError.last(path) }
  }

  /// Returns the content of a file of at most `limit` bytes, without a byte order mark at its start.
  package static func contents(_ path: String, limit: Int) throws(FileError) -> [UInt8] {
    let file = try InputFile(path)
    var bytes: [UInt8] = []
    while true {
      let chunk = try file.read()
      guard !chunk.isEmpty else { return ByteOrderMark.dropped(from: bytes) }
      bytes += chunk
      guard bytes.count <= limit else {
        throw FileError(path: file.path, reason: "larger than \(limit) bytes")
      }
    }
  }
}
