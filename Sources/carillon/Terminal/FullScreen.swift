import CommandSupport
import Dispatch
import Glibc

/// A terminal of which a program draws the whole screen. When it ends, by whatever way, the terminal is as it was.
///
/// Escape codes are those of every terminal of today (ECMA-48, and xterm's private modes 1049 and 25).
struct FullScreen: ~Copyable {
  /// What happens at the terminal.
  enum Event: Equatable {
    /// Somebody has pressed a key.
    case key(UInt8)
    /// It has another size.
    case resized
    /// A signal asks us to end, or the terminal is gone.
    case end
  }

  /// For one reader.
  let events: AsyncStream<Event>
  private let former: termios
  private let keys: any DispatchSourceProtocol
  private let signals: Task<Void, Never>

  /// Takes the terminal over.
  ///
  /// - Returns: `nil` when standard input or standard output is none.
  static func open() throws(FileError) -> FullScreen? {
    var mode = termios()
    // isatty(3): 1 for a terminal. tcgetattr(3): 0, or -1 with errno.
    guard isatty(STDIN_FILENO) == 1, isatty(STDOUT_FILENO) == 1, tcgetattr(STDIN_FILENO, &mode) == 0 else {
      return nil
    }
    let former = mode
    // Keys come at once and are not shown; signals still come of them, but for the one that would stop us in the middle.
    mode.c_lflag &= ~tcflag_t(ICANON | ECHO)
    withUnsafeMutableBytes(of: &mode.c_cc) { $0[Int(VSUSP)] = 0 }
    guard tcsetattr(STDIN_FILENO, TCSANOW, &mode) == 0 else { throw FileError.last("the terminal") }
    return FullScreen(former: former)
  }

  private init(former: termios) {
    self.former = former
    let (events, continuation) = AsyncStream.makeStream(of: Event.self, bufferingPolicy: .bufferingNewest(64))
    self.events = events
    signals = Self.watchSignals(continuation)
    keys = Self.watchKeys(continuation)
    // A terminal that is gone is found out by the first lines.
    try? Self.write("\u{1B}[?1049h\u{1B}[?25l")
  }

  deinit {
    keys.cancel()
    signals.cancel()
    try? Self.write("\u{1B}[?25h\u{1B}[?1049l")
    // tcsetattr(3): TCSADRAIN waits until what was written has gone out.
    withUnsafePointer(to: former) { _ = tcsetattr(STDIN_FILENO, TCSADRAIN, $0) }
  }

  /// Shows these lines and nothing else.
  func show(_ lines: [String]) throws(FileError) {
    var size = winsize()
    // ioctl_tty(2): writes the size in characters, or fails where nobody knows it.
    let isKnown = ioctl(STDOUT_FILENO, UInt(TIOCGWINSZ), &size) == 0 && size.ws_col > 0 && size.ws_row > 0
    try Self.write(
      Self.frame(lines, width: isKnown ? Int(size.ws_col) : 80, height: isKnown ? Int(size.ws_row) : 24))
  }

  /// What draws these lines over whatever is there. Pure: what does not fit is cut off.
  static func frame(_ lines: [String], width: Int, height: Int) -> String {
    // From the top; each line clears its rest, and the last one what is below it.
    "\u{1B}[H" + lines.prefix(height).map { $0.prefix(width) + "\u{1B}[K" }.joined(separator: "\r\n") + "\u{1B}[J"
  }

  private static func watchSignals(_ continuation: AsyncStream<Event>.Continuation) -> Task<Void, Never> {
    let signals = ProcessSignals([SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGWINCH])
    return Task {
      for await number in signals.numbers { continuation.yield(number == SIGWINCH ? .resized : .end) }
    }
  }

  private static func watchKeys(_ continuation: AsyncStream<Event>.Continuation) -> any DispatchSourceProtocol {
    let keys = DispatchSource.makeReadSource(fileDescriptor: STDIN_FILENO, queue: .global())
    keys.setEventHandler {
      var byte: UInt8 = 0
      // read(2): one byte of those that are there; 0 when the terminal has gone.
      continuation.yield(read(STDIN_FILENO, &byte, 1) == 1 ? .key(byte) : .end)
    }
    keys.resume()
    return keys
  }

  private static func write(_ text: String) throws(FileError) {
    var output = StandardOutput()
    try output.write(text.utf8)
    try output.flush()
  }
}
