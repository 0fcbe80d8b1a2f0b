import ArgumentParser
import CampaignStore
import CommandSupport
import PushCore

extension DevicesCommand {
  /// The command `carillon devices show`.
  struct Show: AuditedCommand {
    static let configuration = CommandConfiguration(
      commandName: "show",
      abstract: "Show a user with attributes, segments and devices. Exits with 1 if there is no such user.",
      discussion: """
        Example:
          carillon devices show 4711 --json
        """)

    static let effect = Effect.reads

    @OptionGroup var global: GlobalOptions
    @Argument(help: "The user's id.") var user: String

    func run() async throws {
      let report = try await UserReport(UserArgument.read(user), in: global.openStore())
      try StandardOutput.printLine(global.json ? report.json : report.text)
    }
  }
}
