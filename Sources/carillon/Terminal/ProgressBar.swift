import CommandSupport
import Glibc

/// Draws a ``ProgressLine`` over itself on standard error; draws nothing where that is not a terminal.
struct ProgressBar: ~Copyable {
  /// Ten times a second looks alive and costs nothing.
  private static let interval = Duration.milliseconds(100)

  private let label: String
  private let unit: String
  private let total: Int?
  private let start = ContinuousClock.now
  private var drawn: ContinuousClock.Instant?
  private let isTerminal = isatty(STDERR_FILENO) == 1

  /// - Parameter total: `nil` when the end is not known.
  init(_ label: String, unit: String, total: Int?) {
    self.label = label
    self.unit = unit
    self.total = total
  }

  /// Shows how much is done, unless it did so just now.
  mutating func update(done: Int, total newTotal: Int? = nil) {
    guard isTerminal else { return }
    let now = ContinuousClock.now
    if let drawn, now - drawn < Self.interval { return }
    drawn = now
    let seconds = (now - start) / .seconds(1)
    let line = ProgressLine(label: label, done: done, total: newTotal ?? total, unit: unit, seconds: seconds)
    StandardError.write("\r\u{1B}[K" + line.text(width: Self.terminalWidth))
  }

  /// Takes the line away: the result that follows says what became of it.
  mutating func finish() {
    guard drawn != nil else { return }
    drawn = nil
    StandardError.write("\r\u{1B}[K")
  }

  private static var terminalWidth: Int {
    var size = winsize()
    // ioctl_tty(2): TIOCGWINSZ fills a winsize.
    guard ioctl(STDERR_FILENO, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 20 else { return 79 }
    return Int(size.ws_col) - 1
  }
}
