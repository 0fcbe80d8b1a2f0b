import Foundation
import TestSupport

/// A page of `deploy/stories`: files and commands of its reader, and the answers.
///
/// A block of ```` ```console ```` has commands after `$ ` and their answers. Any other block is a file; the text above
/// the block has its name. Readers don't see comments. A comment is an instruction for the test:
///
/// - `until: COMMAND => TEXT` waits for a condition.
/// - `do: NAME` is an event of the world.
/// - `or: LINE | OTHER` names two forms of a line of the next answer, both of which are right.
struct StoryPage {
  enum Step {
    case file(String, text: String)
    case command(String, answer: [String])
    case until(String, says: String)
    case event(String)
  }

  /// Separates the two possible forms of a line of an answer.
  static let or: Character = "\u{1F}"

  /// Steps of the page, each with its line.
  private(set) var steps: [(line: Int, step: Step)] = []

  init(_ name: String) throws {
    let package = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../../..").standardized
    let text = try String(contentsOf: package.appending(path: "deploy/stories").appending(path: name), encoding: .utf8)
    try read(text.split(separator: "\n", omittingEmptySubsequences: false).map(String.init))
  }

  private mutating func read(_ lines: [String]) throws {
    var name: String?
    var other: (line: String, or: String)?
    var number = 0
    while number < lines.count {
      let line = lines[number]
      if line.hasPrefix("```") {
        guard let end = lines[(number + 1)...].firstIndex(of: "```") else {
          throw TestSupportError("line \(number + 1): a block without an end")
        }
        let block = Array(lines[(number + 1)..<end])
        if line == "```console" {
          try readConsole(
            block.map { $0 == other?.line ? "\($0)\(Self.or)\(other?.or ?? "")" : $0 }, at: number + 2)
          other = nil
        } else {
          guard let file = name else { throw TestSupportError("line \(number + 1): no file is named for this block") }
          steps.append((number + 1, .file(file, text: block.joined(separator: "\n") + "\n")))
          name = nil
        }
        number = end
      } else if let words = line.wholeMatch(of: /<!-- until: (.*) => (.*) -->/)?.output {
        steps.append((number + 1, .until(String(words.1), says: String(words.2))))
      } else if let words = line.wholeMatch(of: /<!-- or: (.*) \| (.*) -->/)?.output {
        other = (String(words.1), String(words.2))
      } else if let words = line.wholeMatch(of: /<!-- do: (.*) -->/)?.output {
        steps.append((number + 1, .event(String(words.1))))
      } else if let file = line.matches(of: /`([A-Za-z0-9-]+\.[a-z]+)`/).last?.output.1 {
        name = String(file)
      }
      number += 1
    }
  }

  private mutating func readConsole(_ block: [String], at first: Int) throws {
    var command: (text: String, line: Int)?
    var answer: [String] = []
    for (offset, line) in (block + ["$ "]).enumerated() {
      guard line.hasPrefix("$ ") else {
        guard command != nil else { throw TestSupportError("line \(first + offset): an answer without a command") }
        answer.append(line)
        continue
      }
      if let command { steps.append((command.line, .command(command.text, answer: answer))) }
      command = (String(line.dropFirst(2)), first + offset)
      answer = []
    }
  }
}

/// Runs a page: writes its files, runs its commands, and compares their output with the page.
struct StoryRun {
  let world: CarillonWorld
  /// Working directory of the commands.
  let folder: ScratchFolder
  private let page: StoryPage
  /// Texts of the page and their replacements: times of the page become times of the test. The replacement is computed
  /// when the run reaches the text.
  private let replacements: [(String, @Sendable () -> String)]
  private let port: UInt16
  /// Lines that replace the `…` of a file, by the name of the file.
  private let rows: [String: String]

  /// - Parameter port: port of the Redis that `redis-cli` uses.
  init(
    _ page: StoryPage, in world: CarillonWorld, folder: ScratchFolder, port: UInt16,
    replacing replacements: [(String, @Sendable () -> String)], rows: [String: String]
  ) throws {
    self.page = page
    self.world = world
    self.folder = folder
    self.replacements = replacements
    self.rows = rows
    self.port = port
  }

  /// Runs the page from its beginning to its end.
  ///
  /// - Parameter event: called with the name of each event of the world.
  func play(_ event: (String) async throws -> Void = { _ in }) async throws {
    for (line, step) in page.steps {
      switch step {
      case .file(let name, let text):
        // The page may show only a part of a file. `rows` has the other lines.
        let whole = replaced(text).replacing("…\n", with: rows[name] ?? "")
        try folder.write(name, (rows[name + " begins"] ?? "") + whole)
      case .command(let command, let answer): try await run(command, answer, line)
      case .until(let command, let text): try await wait(for: text, in: command, line)
      case .event(let name): try await event(name)
      }
    }
  }

  private func replaced(_ text: String) -> String { replacements.reduce(text) { $0.replacing($1.0, with: $1.1()) } }

  private func ask(_ command: String) async throws -> (exit: ChildProcess.Exit, said: String) {
    // Functions instead of files: a new file can't be run while another process still has it open.
    let programs =
      "carillon() { '\(CarillonCommand.path)' \"$@\"; }; redis-cli() { command redis-cli -p \(port) \"$@\"; }"
    let output = try await ChildProcess.run(
      "bash", ["-c", "exec 2>&1; \(programs); " + replaced(command)], environment: world.environment,
      folder: folder.url)
    return (output.exit, output.standardOutput)
  }

  private func run(_ command: String, _ answer: [String], _ line: Int) async throws {
    let (exit, said) = try await ask(command)
    let isRefusal = answer.first?.hasPrefix("error:") == true
    guard (exit == .status(0)) != isRefusal, try Self.matches(said, answer.map(replaced)) else {
      throw TestSupportError("line \(line) of the page: \(command) ended with \(exit) and said:\n\(said)")
    }
  }

  private func wait(for text: String, in command: String, _ line: Int) async throws {
    var said = ""
    do {
      try await poll(until: "\(command) prints “\(text)”, line \(line) of the page", within: .seconds(60)) {
        said = try await ask(command).said
        return Self.words(said).contains(text)
      }
    } catch let error as TestSupportError {
      throw TestSupportError("\(error). It printed:\n\(said)")
    }
  }

  /// Returns the text with normalized blanks, which have no meaning here.
  private static func words(_ text: some StringProtocol) -> String {
    text.split(whereSeparator: \.isWhitespace).joined(separator: " ")
  }

  /// Returns whether lines match the page. `…` stands for any text in a line; alone, it stands for any lines.
  private static func matches(_ said: String, _ answer: [String]) throws -> Bool {
    let pattern = answer.map { line -> String in
      if line == "…" { return "(?:.*\n)*?" }
      let forms = line.split(separator: StoryPage.or).map { form in
        words(form).split(separator: "…", omittingEmptySubsequences: false)
          .map { NSRegularExpression.escapedPattern(for: String($0)) }.joined(separator: ".*?")
      }
      return "(?:" + forms.joined(separator: "|") + ")\n"
    }
    let lines = said.split(separator: "\n").map { words($0) + "\n" }.joined()
    let expression = try NSRegularExpression(pattern: "^" + pattern.joined() + "$")
    return expression.firstMatch(in: lines, range: NSRange(lines.startIndex..., in: lines)) != nil
  }
}
