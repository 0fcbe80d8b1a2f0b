import ArgumentParser
import TestKit
import Testing

@testable import CommandSupport
@testable import carillon

/// Every command line of `carillon` on a page or in a help text exists, with its options.
struct PageCommandTests {
  @Test(arguments: Pages.all) func commandsOfPagesParse(page: String) throws {
    for command in Set(PageCommand.all(in: try Pages.text(of: page))) {
      expect(try problem(of: command), is: nil, "\(page): \(command.text)")
    }
  }

  @Test func examplesOfHelpTextsParse() throws {
    // Examples are indented by two spaces, and code blocks of pages by four.
    let commands = try CommandTree.shared.get().discussions.flatMap { text in
      PageCommand.all(in: text.split(separator: "\n").map { $0.hasPrefix("  ") ? "  \($0)\n" : "\n" }.joined())
    }
    expect(commands.count > 50)
    for command in commands { expect(try problem(of: command), is: nil, "\(command.text)") }
  }

  private func problem(of command: PageCommand) throws -> String? {
    let arguments = GlobalArguments.moved(command.arguments)
    let names = try CommandTree.shared.get().problem(of: arguments)
    return names ?? (command.isComplete ? refusal(of: arguments) : nil)
  }

  /// Why the program refuses arguments; `nil` if it accepts them.
  private func refusal(of arguments: [String]) -> String? {
    do {
      _ = try Carillon.parseAsRoot(arguments)
      return nil
    } catch {
      return Carillon.exitCode(for: error) == .success ? nil : Carillon.message(for: error)
    }
  }

  @Test func commandsAreFoundInEveryKindOfCode() {
    let page = """
      Run `carillon status`, not `redis-cli`, and then `carillon
      top --interval 5`. carillon is no code here.

          X=1 carillon dead list --json | jq . # carillon top
          cat a | carillon lint - && carillon send --app 'a b' \\
            --token t > out 2>&1
          sudo -u carillon carillon doctor
          docker compose exec worker-1 carillon campaign list
          install -g carillon file
      - a list
          carillon is no code here either
      ```sh
      $ carillon store check
      ```
      """
    let found = PageCommand.all(in: page).map { [$0.isComplete ? "complete" : "named"] + $0.arguments }
    expect(
      found,
      is: [
        ["complete", "dead", "list", "--json"], ["complete", "lint", "-"],
        ["complete", "send", "--app", "a b", "--token", "t"], ["complete", "doctor"], ["complete", "campaign", "list"],
        ["complete", "store", "check"], ["named", "status"], ["named", "top", "--interval", "5"],
      ])
  }

  @Test(arguments: [
    ("campaign lst", "no command 'lst' of 'campaign'"), ("campaign list --stat active", "no option --stat of 'list'"),
    ("status now", "'now' is one argument too many"), ("campaign show --json a b", "'b' is one argument too many"),
    ("campaign list --state=active", nil), ("campaign cancel", nil), ("dead retry a b c", nil), ("admin --json", nil),
    ("admin token a --scope view", nil), ("admin --scope view", "no option --scope of 'serve'"),
  ])
  func namesAreCheckedAgainstTheProgram(line: String, problem: String?) throws {
    expect(try CommandTree.shared.get().problem(of: line.split(separator: " ").map(String.init)), is: problem)
  }

  @Test func pagesHaveCommands() throws {
    let commands = try Pages.all.flatMap { PageCommand.all(in: try Pages.text(of: $0)) }
    expect(commands.count > 100 && commands.contains { $0.isComplete })
  }
}
