import ArgumentParser
import Foundation
import TestSupport

@testable import carillon

/// The commands of `carillon` with their options, as the program itself lists them (`--experimental-dump-help`).
struct CommandTree {
  /// A command: its subcommands, options and positional arguments.
  struct Node: Decodable {
    var commandName: String
    var discussion: String?
    var subcommands: [Node]?
    var arguments: [Argument]?
    var defaultSubcommand: String?

    func subcommand(_ name: String) -> Node? { subcommands?.first { $0.commandName == name } }
  }

  /// An option, a flag or a positional argument.
  struct Argument: Decodable {
    struct Name: Decodable {
      var kind: String
      var name: String
    }
    var kind: String
    var names: [Name]?
    var isRepeating: Bool

    /// Whether a word of the command line names it.
    func isNamed(_ word: String) -> Bool {
      (names ?? []).contains { word == ($0.kind == "long" ? "--" : "-") + $0.name }
    }
  }

  private struct Dump: Decodable { var command: Node }

  /// The tree of this build. The dump takes about a second in a debug build, so that all tests share one.
  static let shared = Result {
    var text = ""
    do { _ = try Carillon.parseAsRoot(["--experimental-dump-help"]) } catch { text = Carillon.fullMessage(for: error) }
    return CommandTree(root: try JSONDecoder().decode(Dump.self, from: Data(text.utf8)).command)
  }

  private let root: Node

  /// The help texts of all commands.
  var discussions: [String] {
    func texts(of node: Node) -> [String] {
      [node.discussion ?? ""] + (node.subcommands ?? []).flatMap(texts)
    }
    return texts(of: root)
  }

  /// Returns the first problem in a command line: a command or an option that does not exist, or too many arguments.
  ///
  /// - Returns: `nil` if every name exists.
  func problem(of arguments: [String]) -> String? {
    var (node, words) = (root, arguments[...])
    var (positional, isEnd) = (0, false)
    while let word = words.popFirst() {
      if !isEnd, positional == 0, let next = node.subcommand(word) {
        node = next
        continue
      }
      if let standard = node.defaultSubcommand.flatMap(node.subcommand) { node = standard }
      if word == "--" {
        isEnd = true
      } else if !isEnd, word.hasPrefix("-"), word != "-" {
        let parts = word.split(separator: "=", maxSplits: 1)
        guard let option = (node.arguments ?? []).first(where: { $0.isNamed(String(parts[0])) }) else {
          return "no option \(parts[0]) of '\(node.commandName)'"
        }
        if option.kind == "option", parts.count == 1 { _ = words.popFirst() }
      } else {
        positional += 1
        let takes = (node.arguments ?? []).filter { $0.kind == "positional" }
        if takes.isEmpty, node.subcommands?.isEmpty == false { return "no command '\(word)' of '\(node.commandName)'" }
        if positional > takes.count, takes.last?.isRepeating != true { return "'\(word)' is one argument too many" }
      }
    }
    return nil
  }
}
