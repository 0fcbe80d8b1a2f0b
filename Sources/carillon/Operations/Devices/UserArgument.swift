import CommandSupport
import PushCore

/// Reads user ids from the arguments of a command, and from the path and query of a request.
enum UserArgument {
  /// Returns the id in the canonical form of ``UserID``.
  static func read(_ text: String) throws(CommandError) -> String {
    do throws(IdentifierError) {
      return try UserID.read(text)
    } catch {
      throw CommandError(.input, "user: \(Excerpt.quoted(text)): \(error)")
    }
  }

  static func read(_ texts: [String]) throws(CommandError) -> [String] {
    var users: [String] = []
    for text in texts { users.append(try read(text)) }
    return users
  }
}
