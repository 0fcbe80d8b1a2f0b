import Glibc

/// Standard output with a buffer, because exports write millions of lines.
package struct StandardOutput: ~Copyable {
  /// Size of the buffer in bytes: about one system call per thousand lines.
  private static let capacity = 1 << 16

  private var buffer: [UInt8] = []

  package init() {}

  package mutating func write(_ bytes: some Collection<UInt8>) throws(FileError) {
    buffer.append(contentsOf: bytes)
    if buffer.count >= Self.capacity { try flush() }
  }

  package mutating func writeLine(_ text: String) throws(FileError) {
    try write(text.utf8)
    try write(CollectionOfOne(UInt8(ascii: "\n")))
  }

  /// Writes the buffered bytes. Call it at the end.
  package mutating func flush() throws(FileError) {
    defer { buffer.removeAll(keepingCapacity: true) }
    var written = 0
    while written < buffer.count {
      // write(2) returns the number of written bytes, which may be smaller than the buffer, or -1 with errno. The
      // buffer is valid within the closure.
      let count = buffer.withUnsafeBytes { bytes in
        Glibc.write(STDOUT_FILENO, bytes.baseAddress.map { $0 + written }, bytes.count - written)
      }
      if count >= 0 {
        written += count
      } else if errno != EINTR {
        throw FileError.last("standard output")
      }
    }
  }

  /// Writes a text and a line feed immediately.
  package static func printLine(_ text: String) throws(FileError) {
    var output = StandardOutput()
    try output.writeLine(text)
    try output.flush()
  }
}
