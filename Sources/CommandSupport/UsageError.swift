import ArgumentParser
import PushCore

/// Conversion of ArgumentParser's errors into ``CommandError``.
enum UsageError {
  /// Returns the command error for an error of ArgumentParser.
  ///
  /// - Parameters:
  ///   - error: the error of the parser.
  ///   - root: the root command.
  ///   - arguments: the arguments of the process.
  static func commandError(
    for error: any Error, of root: any ParsableCommand.Type, arguments: [String]
  ) -> CommandError {
    if let unknown = unknownCommand(arguments, of: root) { return unknown }
    let full = root.fullMessage(for: error)
    // The parser's text ends with the command that prints the help of the intended command.
    let help = full.firstRange(of: "See '").flatMap { start in
      full[start.upperBound...].firstIndex(of: "'").map { String(full[start.upperBound..<$0]) }
    }
    return CommandError(
      .usage, oneLine(root.message(for: error)), hint: "see '\(help ?? root._commandName + " --help")'")
  }

  /// Returns the error for a command that does not exist. ArgumentParser itself would only report an unexpected
  /// argument.
  private static func unknownCommand(_ arguments: [String], of root: any ParsableCommand.Type) -> CommandError? {
    var command = root
    var path = root._commandName
    for argument in arguments {
      let subcommands = command.configuration.subcommands
      guard !subcommands.isEmpty, !argument.hasPrefix("-"), argument != "help" else { return nil }
      guard let next = subcommands.first(where: { $0._commandName == argument }) else {
        return CommandError(
          .usage, "'\(path)' has no command \(Excerpt.quoted(argument))",
          hint: Nearest.hint(argument, among: subcommands.map { $0._commandName }))
      }
      command = next
      path += " " + argument
    }
    return nil
  }

  /// Returns a message and the list below it as one line.
  private static func oneLine(_ message: String) -> String {
    let lines = message.split(separator: "\n").map { line in
      line.drop { $0 == " " || $0 == "-" }
    }
    guard let first = lines.first, lines.count > 1 else { return message }
    return first + " " + lines.dropFirst().joined(separator: ", ")
  }
}
