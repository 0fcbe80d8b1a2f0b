import Foundation
import Glibc
import TestSupport
import Testing

/// The time that reading an input takes grows with its size and no faster: nobody stops a worker or the API with an input
/// that is merely large.
///
/// `make fuzz` runs the long form: larger inputs, and a table of what each format takes.
struct InputGrowthTests {
  private static let isLong = ProcessInfo.processInfo.environment["CARILLON_TEST_FUZZ"] != nil

  /// Bytes of the larger input: enough that work which grows with the square of its size outweighs all other work.
  private static let size = isLong ? 1 << 18 : 1 << 15
  /// An input eight times as large takes eight times as long. Two and a half times that is still noise; a quadratic reader takes
  /// 64 times as long.
  private static let mostGrowth = 20.0
  /// No input takes longer, however its time grows: seconds for a byte, in a debug build on a slow machine.
  private static let mostForAByte = 100e-6

  private struct Measurement {
    var bytes = 0
    var seconds = 0.0
    var growth = 0.0

    var isLinear: Bool { growth <= mostGrowth && seconds <= Double(max(bytes, 16_384)) * mostForAByte }
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

  /// Measures an input of so many bytes against one of an eighth.
  private static func measure(_ shape: InputShape, _ size: Int) -> Measurement {
    let (small, large) = (shape.make(size / 8), shape.make(size))
    let seconds = time { shape.format.read(large) }
    // The shortest of several: what else happens on the machine only adds.
    let least = (0..<3).map { _ in time { shape.format.read(small) } }.min() ?? 0
    // Below a millisecond the clock and the caches decide.
    let growth = seconds / max(least, 1e-3) * Double(small.count * 8) / Double(large.count)
    return Measurement(bytes: large.count, seconds: seconds, growth: growth)
  }

  @Test(arguments: InputFormat.allCases)
  func timeGrowsWithTheSize(format: InputFormat) async {
    // On a thread of its own: there are as many of Swift's as cores, and other tests need them.
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
      // Noise does not repeat itself, and work that is quadratic up to a bound is linear in larger inputs.
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
