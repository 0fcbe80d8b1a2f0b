import CommandSupport
import Glibc

/// Asks whoever sits at the terminal before something that can't be undone.
enum Confirmation {
  /// - Parameters:
  ///   - isGiven: `--yes`.
  ///   - deed: what is done to what: `this drops 3 jobs for good`.
  ///   - detail: more of it, for who is asked; empty for none.
  ///   - refusal: what has not happened without a yes.
  /// - Throws: ``CommandError`` `usage` where nobody can be asked, `failed` without a yes.
  static func obtain(_ isGiven: Bool, for deed: String, detail: String = "", refusal: String) throws {
    guard !isGiven else { return }
    // isatty(3): 1 for a terminal.
    guard isatty(STDIN_FILENO) == 1 else {
      throw CommandError(
        .usage, "\(deed), and nobody is there to be asked", hint: "say --yes if you want that; \(refusal)")
    }
    StandardError.write("\(deed.prefix(1).uppercased())\(deed.dropFirst())\(detail). Go on? [y/N] ")
    StandardError.flush()
    let answer = readLine()?.lowercased()
    guard answer == "y" || answer == "yes" else { throw CommandError(.failed, refusal) }
  }
}
