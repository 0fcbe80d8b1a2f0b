import CommandSupport
import Dispatch
import Glibc

/// A terminal in full-screen mode. The previous state of the terminal is always restored at the end.
///
/// The escape codes work on all current terminals (ECMA-48, and xterm's private modes 1049 and 25).
struct FullScreen: ~Copyable {
  /// An event of the terminal.
  enum Event: Equatable {
    /// A key was pressed.
    case key(UInt8)
    /// The size has changed.
    case resized
    /// A signal asks the program to end, or the terminal is gone.
    case end
  }

  /// The events. Only one reader is allowed.
  let events: AsyncStream<Event>
  private let former: termios
  private let keys: any DispatchSourceProtocol
  private let signals: Task<Void, Never>

  /// Enters full-screen mode.
  ///
  /// - Returns: `nil` if standard input or standard output is not a terminal.
  static func open() throws(FileError) -> FullScreen? {
    var mode = termios()
    // isatty(3) returns 1 for a terminal. tcgetattr(3) returns 0, or -1 with errno.
    guard isatty(STDIN_FILENO) == 1, isatty(STDOUT_FILENO) == 1, tcgetattr(STDIN_FILENO, &mode) == 0 else {
      return nil
    }
    let former = mode
    // Deliver keys immediately and don't echo them. Keys for signals still work, except the suspend key: it would stop
    // the program and leave the terminal in full-screen mode.
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
    // If this write fails because the terminal is gone, the first call of `show` reports the error.
    try? Self.write("\u{1B}[?1049h\u{1B}[?25l")
  }

  deinit {
    keys.cancel()
    signals.cancel()
    try? Self.write("\u{1B}[?25h\u{1B}[?1049l")
    // tcsetattr(3): with TCSADRAIN, the call waits until all output is transmitted.
    withUnsafePointer(to: former) { _ = tcsetattr(STDIN_FILENO, TCSADRAIN, $0) }
  }

  /// Replaces the content of the screen with these lines.
  func show(_ lines: [String]) throws(FileError) {
    var size = winsize()
    // ioctl_tty(2) writes the size in characters, or fails if the size is unknown.
    let isKnown = ioctl(STDOUT_FILENO, UInt(TIOCGWINSZ), &size) == 0 && size.ws_col > 0 && size.ws_row > 0
    try Self.write(
      Self.frame(lines, width: isKnown ? Int(size.ws_col) : 80, height: isKnown ? Int(size.ws_row) : 24))
  }

  /// Returns the escape sequence that replaces the screen with these lines. Pure. Text outside the screen is cut off.
  static func frame(_ lines: [String], width: Int, height: Int) -> String {
    // Start at the top. The text of each line is followed by a code that clears the rest of the line. The last code
    // clears the screen below.
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
      // read(2) reads one of the available bytes, and returns 0 if the terminal is gone.
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
