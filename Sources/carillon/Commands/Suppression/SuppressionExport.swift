import ArgumentParser
import CampaignStore
import CommandSupport
import PushCore

extension SuppressionCommand {
  /// The command `carillon suppression export`.
  struct Export: AuditedCommand {
    static let configuration = CommandConfiguration(
      commandName: "export", abstract: "Write the users on a suppression list to standard output, one per line.",
      discussion: """
        Example:
          carillon suppression export news --category offers > no-offers.txt
        """)

    static let effect = Effect.reads

    @OptionGroup var global: GlobalOptions
    @OptionGroup var options: SuppressionOptions

    func run() async throws {
      let list = try options.list(global)
      var output = StandardOutput()
      try await global.openStore().audiences.forEachMember(ofSegment: list.segment) { users in
        for user in users { try output.write(user, json: global.json) }
      }
      try output.flush()
    }
  }
}
