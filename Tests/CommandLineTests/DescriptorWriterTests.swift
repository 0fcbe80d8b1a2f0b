import Dispatch
import Glibc
import TestKit
import TestSupport
import Testing

@testable import CommandSupport

/// A writer whose reader stops, disappears or comes back. No caller of the writer waits, and the writer counts lost
/// lines.
struct DescriptorWriterTests {

  /// A pipe that becomes full if its reader stops.
  private final class Pipe {
    let reader: Int32
    let writer: Int32

    init() throws {
      var ends: [Int32] = [-1, -1]
      guard pipe(&ends) == 0, narrowPipe(ends[1]) else {
        throw TestSupportError("no pipe: \(String(cString: strerror(errno)))")
      }
      (reader, writer) = (ends[0], ends[1])
    }

    /// Returns the lines up to and including the line for which `isLast` is true.
    func lines(until isLast: (String) -> Bool) -> [String] {
      var (lines, line, byte): ([String], [UInt8], UInt8) = ([], [], 0)
      while read(reader, &byte, 1) == 1 {
        guard byte == UInt8(ascii: "\n") else {
          line.append(byte)
          continue
        }
        lines.append(String(decoding: line, as: UTF8.self))
        line = []
        if lines.last.map(isLast) == true { break }
      }
      return lines
    }
  }

  private func writer(_ descriptor: Int32) -> DescriptorWriter {
    DescriptorWriter(descriptor) { "gap \($0)\n" }
  }

  /// The test writes more than the pipe and the buffer can hold.
  @Test func stoppedReaderBlocksNoWriterAndLearnsTheGap() throws {
    let pipe = try Pipe()
    let writer = writer(pipe.writer)
    let text = String(repeating: "x", count: 990)
    let count = 2 * DescriptorWriter.capacity / 1000
    // `write` returns although the pipe has no reader.
    for number in 0..<count { writer.write("\(number) \(text)\n") }
    let dropped = writer.dropped
    expect(dropped > 0 && dropped < count)
    let lines = pipe.lines { $0.hasPrefix("gap ") }
    expect(lines.last, is: "gap \(dropped)")
    expect(lines.dropLast().map { $0.split(separator: " ")[0] }, is: (0..<count - dropped).map { "\($0)" })
    // The writer works again and reports no further gap.
    writer.write("more\n")
    writer.flush(within: .seconds(20))
    expect(pipe.lines { $0 == "more" }, is: ["more"])
    expect(writer.dropped, is: dropped)
  }

  /// A full disk that has room again later: the writer reports the lost lines once.
  @Test func fullDiskLosesLinesAndReportsThemLater() throws {
    let (file, pipe) = (open("/dev/full", O_WRONLY), try Pipe())
    let writer = writer(file)
    for _ in 0..<3 { writer.write("lost\n") }
    writer.flush(within: .seconds(20))
    expect(writer.dropped, is: 3)
    // dup2(2): the descriptor's number now refers to the pipe.
    expect(dup2(pipe.writer, file), is: file)
    writer.write("here\n")
    expect(pipe.lines { $0.hasPrefix("gap ") }, is: ["here", "gap 3"])
  }

  @Test func closedPipeLosesLinesAndNothingElse() throws {
    let pipe = try Pipe()
    signal(SIGPIPE, SIG_IGN)
    let writer = writer(pipe.writer)
    close(pipe.reader)
    for _ in 0..<3 { writer.write("lost\n") }
    writer.flush(within: .seconds(20))
    expect(writer.dropped, is: 3)
  }

  /// Processes share the open file description, and another process has made it non-blocking.
  @Test func nonBlockingDescriptorLosesNoLine() throws {
    let pipe = try Pipe()
    expect(fcntl(pipe.writer, F_SETFL, O_NONBLOCK), is: 0)
    let writer = writer(pipe.writer)
    let text = String(repeating: "x", count: 990)
    for number in 0..<50 { writer.write("\(number) \(text)\n") }
    writer.write("last\n")
    let lines = pipe.lines { $0 == "last" }
    expect(lines.count == 51 && writer.dropped == 0)
  }

  /// A process that ends does not wait for a reader that never reads.
  @Test func flushEndsWithItsTime() throws {
    let pipe = try Pipe()
    let writer = writer(pipe.writer)
    for _ in 0..<10 { writer.write(String(repeating: "x", count: 999) + "\n") }
    writer.flush(within: .milliseconds(1))
    expect(writer.dropped, is: 0)
  }
}
