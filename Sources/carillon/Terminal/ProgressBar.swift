import CommandSupport
import Glibc

import PushCore

/// Draws a ``ProgressLine`` on standard error. If standard error is not a terminal, it writes a line every 5 s.
struct ProgressBar: ~Copyable {
  /// Interval between two drawings. With ten drawings per second, the progress appears live at negligible cost.
  private static let interval = Duration.milliseconds(100)
  /// Interval between two lines for output that is not a terminal: short enough to see the progress.
  private static let lineInterval = Duration.seconds(5)

  private let label: String
  private let unit: String
  private let total: Int?
  private let isJSON: Bool
  private let start = ContinuousClock.now
  private var drawn: ContinuousClock.Instant?
  /// Amount of work that was done before the start, for example by an interrupted import.
  private var first = 0
  private let isTerminal = isatty(STDERR_FILENO) == 1

  /// - Parameters:
  ///   - total: the total amount of work; `nil` if unknown.
  ///   - json: whether lines are JSON objects.
  init(_ label: String, unit: String, total: Int?, json: Bool = false) {
    // A blocked reader of standard error must not stop the work.
    StandardError.detach()
    self.label = label
    self.unit = unit
    self.total = total
    isJSON = json
  }

  /// Sets the amount of work that was done before the start.
  mutating func begin(at done: Int) {
    first = done
  }

  /// Shows the progress, at most once per interval.
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

  /// Removes the line from the terminal, before the command prints its result.
  mutating func finish() {
    if isTerminal, drawn != nil {
      drawn = nil
      StandardError.write("\r\u{1B}[K")
    }
    StandardError.flush()
  }

  private static var terminalWidth: Int {
    var size = winsize()
    // ioctl_tty(2): TIOCGWINSZ writes the size of the terminal into a `winsize`.
    guard ioctl(STDERR_FILENO, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 20 else { return 79 }
    return Int(size.ws_col) - 1
  }
}
