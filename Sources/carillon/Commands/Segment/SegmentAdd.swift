import ArgumentParser
import CampaignStore
import CommandSupport
import PushCore

extension SegmentCommand {
  /// The command `carillon segment add`.
  struct Add: AuditedCommand {
    static let configuration = CommandConfiguration(
      commandName: "add", abstract: "Add users to a segment. Creates the segment if needed.",
      discussion: """
        Example:
          carillon segment add optedout ada ben
        """)

    static let effect = Effect.changes([.segmentAdd])

    @OptionGroup var global: GlobalOptions
    @Argument(help: "The segment's name: 1 to 64 characters of A-Z a-z 0-9 . _ -") var name: String
    @Argument(help: "User ids.") var users: [String]

    func run() async throws {
      let (name, users) = (try SegmentName.read(name), try UserArgument.read(users))
      let store = try await global.openStore(creating: true, changing: true)
      let known = try await UserListChange(store: store, actor: .commandLine).add(users, to: name)
      let unknown = users.count - known
      try SegmentUsers.report(
        name, users.count,
        "added \(users.count.grouped) to \(name)" + (unknown > 0 ? ", \(unknown) without a device" : ""),
        json: global.json)
    }
  }
}
