import Foundation
import TestSupport

/// A library that is preloaded into processes with a wrong clock: `CLOCK_SHIFT_SECONDS` ahead.
enum ClockShift {
  /// Returns the path of the library in the programs' folder; see Tests/ClockShift.
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
