import CommandSupport
import Glibc

import PushCore

/// Draws a ``ProgressLine`` over itself on standard error; where that is not a terminal it writes one every few seconds.
struct ProgressBar: ~Copyable {
  /// Ten times a second looks alive and costs nothing.
  private static let interval = Duration.milliseconds(100)
  /// Of lines in a log: often enough to see that it goes on.
  private static let lineInterval = Duration.seconds(5)

  private let label: String
  private let unit: String
  private let total: Int?
  private let isJSON: Bool
  private let start = ContinuousClock.now
  private var drawn: ContinuousClock.Instant?
  /// What was done before it began.
  private var first = 0
  private let isTerminal = isatty(STDERR_FILENO) == 1

  /// - Parameters:
  ///   - total: `nil` when the end is not known.
  ///   - json: whether lines are JSON objects.
  init(_ label: String, unit: String, total: Int?, json: Bool = false) {
    // What it shows is of no use to a reader who does not read: the work goes on without one.
    StandardError.detach()
    self.label = label
    self.unit = unit
    self.total = total
    isJSON = json
  }

  /// Says how much was done before it began.
  mutating func begin(at done: Int) {
    first = done
  }

  /// Shows how much is done, unless it did so just now.
  mutating func update(done: Int, total newTotal: Int? = nil) {
    let now = ContinuousClock.now
    guard isTerminal ? drawn.map({ now - $0 >= Self.interval }) ?? true : now - (drawn ?? start) >= Self.lineInterval
    else { return }
    drawn = now
    var line = ProgressLine(
      label: label, done: done, total: newTotal ?? total, unit: unit, seconds: (now - start) / .seconds(1))
    line.first = first
    if isTerminal {
      StandardError.write("\r\u{1B}[K" + line.text(width: Self.terminalWidth))
    } else {
      StandardError.write((isJSON ? line.json : line.plain) + "\n")
    }
  }

  /// Takes the line away: the result that follows says what became of it.
  mutating func finish() {
    if isTerminal, drawn != nil {
      drawn = nil
      StandardError.write("\r\u{1B}[K")
    }
    StandardError.flush()
  }

  private static var terminalWidth: Int {
    var size = winsize()
    // ioctl_tty(2): TIOCGWINSZ fills a winsize.
    guard ioctl(STDERR_FILENO, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 20 else { return 79 }
    return Int(size.ws_col) - 1
  }
}
