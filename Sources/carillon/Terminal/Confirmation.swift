import CommandSupport
import Glibc

/// A confirmation at the terminal before an action that can't be undone.
enum Confirmation {
  /// Asks the user to confirm an action.
  ///
  /// - Parameters:
  ///   - isGiven: the value of `--yes`.
  ///   - action: the action, as the beginning of a sentence: `this drops 3 jobs for good`.
  ///   - detail: more about the action, shown only in the question; empty for none.
  ///   - refusal: the message if the user does not confirm.
  /// - Throws: ``CommandError`` `usage` without a terminal, `failed` if the user does not confirm.
  static func obtain(_ isGiven: Bool, for action: String, detail: String = "", refusal: String) throws {
    guard !isGiven else { return }
    // isatty(3) returns 1 for a terminal.
    guard isatty(STDIN_FILENO) == 1 else {
      throw CommandError(
        .usage, "\(action), and standard input is not a terminal to ask for confirmation",
        hint: "\(refusal); add --yes to confirm")
    }
    StandardError.write("\(action.prefix(1).uppercased())\(action.dropFirst())\(detail). Continue? [y/N] ")
    StandardError.flush()
    let answer = readLine()?.lowercased()
    guard answer == "y" || answer == "yes" else { throw CommandError(.failed, refusal) }
  }
}
