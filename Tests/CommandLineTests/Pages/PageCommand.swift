import Foundation

/// A command line of `carillon` on a page.
struct PageCommand: Hashable, Sendable {
  /// The words after `carillon`, without quotes.
  var arguments: [String]
  /// Whether the page shows it as a line to type. A command in a sentence may leave out arguments.
  var isComplete: Bool

  /// The command as one line.
  var text: String { (["carillon"] + arguments).joined(separator: " ") }

  /// Finds the command lines of a page: in code blocks, fenced or indented, and in code spans that begin with
  /// `carillon`.
  static func all(in page: String) -> [PageCommand] {
    let (code, prose) = split(page)
    let shown = code.flatMap { commands(in: $0, isComplete: true) }
    let named = prose.matches(of: #/`(carillon\s[^`]+)`/#).flatMap { match in
      commands(in: String(match.1.replacing(#/\s+/#, with: " ").replacing("\\|", with: "|")), isComplete: false)
    }
    return shown + named
  }

  /// Separates the lines of code blocks, whose continuation lines are joined, from all other text.
  private static func split(_ page: String) -> (code: [String], prose: String) {
    var (code, prose): ([String], [Substring]) = ([], [])
    var (isFenced, isContinued, wasCode) = (false, false, true)
    for line in page.split(separator: "\n", omittingEmptySubsequences: false) {
      let trimmed = line.trimmingCharacters(in: .whitespaces)
      if trimmed.hasPrefix("```") {
        isFenced.toggle()
        continue
      }
      // An indented line is code only after an empty line or another line of code: otherwise it continues a list item.
      let isCode = isFenced || (wasCode && line.hasPrefix("    "))
      wasCode = isCode || trimmed.isEmpty
      guard isCode else {
        prose.append(line)
        continue
      }
      let text = trimmed.hasSuffix("\\") ? String(trimmed.dropLast()) : trimmed
      if isContinued, let last = code.popLast() { code.append(last + " " + text) } else { code.append(text) }
      isContinued = trimmed.hasSuffix("\\")
    }
    return (code, prose.joined(separator: "\n"))
  }

  /// The commands of `carillon` in a line of shell: after assignments and wrappers, and behind `|`, `&&`, `;` and `$(`.
  private static func commands(in line: String, isComplete: Bool) -> [PageCommand] {
    ShellLine(line).commands.compactMap { words in
      let command = words.drop { $0.contains(#/^[A-Z_]+=/#) || $0 == "$" }
      let places = command.indices.filter { place in
        // After these options, the word is the name of an image, a group or a user.
        isCarillon(command[place]) && !["-t", "-g", "-u"].contains(command[..<place].last)
      }
      guard let place = places.first else { return nil }
      // The word is an argument of another program, unless that program runs commands.
      guard command[..<place].first.map({ ["sudo", "docker", "kubectl"].contains($0) }) ?? true else { return nil }
      let arguments = Array(command[(place + 1)...])
      // An ellipsis as an argument leaves the value to the reader.
      return PageCommand(arguments: arguments, isComplete: isComplete && !arguments.contains("…"))
    }
  }

  private static func isCarillon(_ word: String) -> Bool { word == "carillon" || word.hasSuffix("/carillon") }
}

/// A line of shell, as simple commands of words. Knows quotes, comments, redirections and operators; no expansions.
struct ShellLine {
  /// The words of each simple command.
  private(set) var commands: [[String]] = [[]]

  init(_ line: String) {
    var characters = line[...]
    var (word, isQuoted, isRedirected): (String, Bool, Bool) = ("", false, false)
    func isOperator(_ character: Character) -> Bool { "|&;()<>".contains(character) }
    func endWord(_ commands: inout [[String]]) {
      guard isQuoted || !word.isEmpty else { return }
      if !isRedirected { commands[commands.count - 1].append(word) }
      (word, isQuoted, isRedirected) = ("", false, false)
    }
    while let character = characters.popFirst() {
      switch character {
      case "'", "\"":
        isQuoted = true
        word += characters.prefix { $0 != character }
        characters = characters.drop { $0 != character }.dropFirst()
      case " ": endWord(&commands)
      case "#" where word.isEmpty && !isQuoted: characters = ""
      case ">", "<":
        // A number before it is a descriptor.
        if word.allSatisfy(\.isNumber) { word = "" }
        endWord(&commands)
        characters = characters.drop { "&<>".contains($0) }
        isRedirected = true
      case let separator where isOperator(separator):
        endWord(&commands)
        isRedirected = false
        commands.append([])
      default: word.append(character)
      }
      if isRedirected, word.isEmpty, !isQuoted { characters = characters.drop { $0 == " " } }
    }
    endWord(&commands)
    commands.removeAll(where: \.isEmpty)
  }
}
