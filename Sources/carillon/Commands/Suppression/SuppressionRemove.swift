import ArgumentParser
import CampaignStore
import CommandSupport
import PushCore

extension SuppressionCommand {
  /// `carillon suppression remove`.
  struct Remove: CarillonCommand {
    static let configuration = CommandConfiguration(
      abstract: "Takes users off a list. Exits 1 when none of them was on it.",
      discussion: """
        Example:
          carillon suppression remove news ada
        """)

    @OptionGroup var global: GlobalOptions
    @OptionGroup var options: SuppressionOptions
    @Argument(help: "Ids of users.") var users: [String]

    func run() async throws {
      let list = try options.list(global)
      let users = try UserArgument.read(users)
      let removed = try await global.openStore(changing: true).audiences.remove(users, from: list.segment)
      try list.report(removed, "took \(removed.grouped) off the list of \(list.title)", json: global.json)
      if removed == 0 { throw ExitCode(CommandError.Code.failed.exitStatus) }
    }
  }
}
