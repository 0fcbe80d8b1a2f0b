import Foundation
import Glibc
import TestKit
import TestSupport
import Testing

/// The time to read an input grows linearly with its size. A large input can't block a worker or the API.
///
/// `make fuzz` runs the long form: larger inputs, and a table with the time of each format.
@Suite(.takesTurns) struct InputGrowthTests {
  private static let isLong = ProcessInfo.processInfo.environment["CARILLON_TEST_FUZZ"] != nil

  /// Bytes of the larger input: enough that work which grows with the square of its size outweighs all other work.
  private static let size = isLong ? 1 << 18 : 1 << 15
  /// Allowed growth of the time. An input eight times as large takes eight times as long in a linear reader and 64
  /// times in a quadratic one. 2.5 times the linear growth can still be noise.
  private static let maximumGrowth = 20.0
  /// Longest allowed time in seconds a byte, for any growth. It holds for a debug build on a slow machine.
  private static let maximumForAByte = 100e-6

  private struct Measurement {
    var bytes = 0
    var seconds = 0.0
    var growth = 0.0

    var isLinear: Bool { growth <= maximumGrowth && seconds <= Double(max(bytes, 16_384)) * maximumForAByte }
  }

  /// CPU time of this thread, in seconds.
  private static func time(_ body: () -> Void) -> Double {
    func now() -> Double {
      var time = timespec()
      clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
      return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
    }
    let start = now()
    body()
    return now() - start
  }

  /// Compares the time of an input of `size` bytes with the time of an input of an eighth of the size.
  private static func measure(_ shape: InputShape, _ size: Int) -> Measurement {
    let (small, large) = (shape.make(size / 8), shape.make(size))
    let seconds = time { shape.format.read(large) }
    // The shortest of several measurements: other work on the machine only adds time.
    let least = (0..<3).map { _ in time { shape.format.read(small) } }.min() ?? 0
    // Below 1 ms, clock and caches determine the result.
    let growth = seconds / max(least, 1e-3) * Double(small.count * 8) / Double(large.count)
    return Measurement(bytes: large.count, seconds: seconds, growth: growth)
  }

  @Test(arguments: isLong ? InputFormat.allCases : TestForm.rows(InputFormat.allCases, inParts: 4))
  func timeGrowsWithTheSize(format: InputFormat) async {
    // Uses its own thread: Swift has only one thread for each core, and other tests need these threads.
    let (problems, figures) = await withCheckedContinuation { continuation in
      Thread { continuation.resume(returning: Self.compare(format)) }.start()
    }
    for problem in problems { Issue.record(Comment(rawValue: problem)) }
    if Self.isLong { print(figures) }
  }

  /// - Returns: the shapes whose time grows faster than their size, and the figures of the format's slowest shape.
  private static func compare(_ format: InputFormat) -> (problems: [String], figures: String) {
    var problems: [String] = []
    var slowest = (text: "", growth: -1.0)
    for shape in InputShape.all where shape.format == format {
      var measured = measure(shape, size)
      // Noise does not repeat, and work that is quadratic up to a bound is linear for larger inputs.
      for _ in 0..<2 where !measured.isLinear { measured = measure(shape, measured.bytes * 4) }
      let text = String(
        format: "%@: %d bytes took %.0f ms, %.1f times an eighth of them", shape.testDescription as NSString,
        measured.bytes, measured.seconds * 1000, measured.growth)
      if !measured.isLinear { problems.append(text) }
      if measured.growth > slowest.growth { slowest = (text, measured.growth) }
    }
    return (problems, slowest.text)
  }
}
