import ArgumentParser
import CampaignStore
import CommandSupport
import PushCore

extension SuppressionCommand {
  /// The command `carillon suppression add`.
  struct Add: AuditedCommand {
    static let configuration = CommandConfiguration(
      commandName: "add", abstract: "Add users to a suppression list.",
      discussion: """
        Example:
          carillon suppression add news ada ben --category offers
        """)

    static let effect = Effect.changes([.suppressionAdd])

    @OptionGroup var global: GlobalOptions
    @OptionGroup var options: SuppressionOptions
    @Argument(help: "User ids.") var users: [String]

    func run() async throws {
      let list = try options.list(global)
      let users = try UserArgument.read(users)
      let store = try await global.openStore(creating: true, changing: true)
      try await UserListChange(store: store, actor: .commandLine).suppress(users, on: list)
      try list.report(
        users.count, "\(users.count.grouped) added to the suppression list of \(list.title)", json: global.json)
    }
  }
}
