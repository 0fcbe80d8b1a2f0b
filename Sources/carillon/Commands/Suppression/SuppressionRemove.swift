import ArgumentParser
import CampaignStore
import CommandSupport
import PushCore

extension SuppressionCommand {
  /// The command `carillon suppression remove`.
  struct Remove: AuditedCommand {
    static let configuration = CommandConfiguration(
      commandName: "remove",
      abstract: "Remove users from a suppression list. Exits with 1 if none of them was on the list.",
      discussion: """
        Example:
          carillon suppression remove news ada
        """)

    static let effect = Effect.changes([.suppressionRemove])

    @OptionGroup var global: GlobalOptions
    @OptionGroup var options: SuppressionOptions
    @Argument(help: "User ids.") var users: [String]

    func run() async throws {
      let list = try options.list(global)
      let users = try UserArgument.read(users)
      let store = try await global.openStore(changing: true)
      let removed = try await UserListChange(store: store, actor: .commandLine).release(users, from: list)
      try list.report(
        removed, "removed \(removed.grouped) from the suppression list of \(list.title)", json: global.json)
      if removed == 0 { throw ExitCode(CommandError.Code.failed.exitStatus) }
    }
  }
}
