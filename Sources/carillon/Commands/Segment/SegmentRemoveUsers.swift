import ArgumentParser
import CampaignStore
import CommandSupport
import PushCore

extension SegmentCommand {
  /// The command `carillon segment remove-users`.
  struct RemoveUsers: AuditedCommand {
    static let configuration = CommandConfiguration(
      commandName: "remove-users",
      abstract: "Remove users from a segment. Exits with 1 if none of them was in the segment.",
      discussion: """
        Example:
          carillon segment remove-users optedout ada
        """)

    static let effect = Effect.changes([.segmentRemove])

    @OptionGroup var global: GlobalOptions
    @Argument(help: "The segment.") var name: String
    @Argument(help: "User ids.") var users: [String]

    func run() async throws {
      let (name, users) = (Identifier.trimmed(name), try UserArgument.read(users))
      let store = try await global.openStore(changing: true)
      let removed = try await UserListChange(store: store, actor: .commandLine).remove(users, from: name)
      try SegmentUsers.report(name, removed, "removed \(removed.grouped) from \(name)", json: global.json)
      if removed == 0 { throw ExitCode(CommandError.Code.failed.exitStatus) }
    }
  }
}
