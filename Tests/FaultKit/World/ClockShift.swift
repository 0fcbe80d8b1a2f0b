import Foundation
import TestSupport

/// What is preloaded into processes whose clock is to be wrong: `CLOCK_SHIFT_SECONDS` ahead.
enum ClockShift {
  /// The library beside the programs; see Tests/ClockShift.
  static func library() throws -> String {
    let path = URL(fileURLWithPath: CarillonCommand.path).deletingLastPathComponent().appending(
      path: "libClockShift.so"
    ).path
    guard FileManager.default.fileExists(atPath: path) else {
      throw FaultSkipped("\(path) is missing: swift build --product ClockShift")
    }
    return path
  }
}
