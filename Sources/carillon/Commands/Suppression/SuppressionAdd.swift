import ArgumentParser
import CampaignStore
import CommandSupport
import PushCore

extension SuppressionCommand {
  /// `carillon suppression add`.
  struct Add: CarillonCommand {
    static let configuration = CommandConfiguration(
      abstract: "Puts users on a list.",
      discussion: """
        Example:
          carillon suppression add news ada ben --category offers
        """)

    @OptionGroup var global: GlobalOptions
    @OptionGroup var options: SuppressionOptions
    @Argument(help: "Ids of users.") var users: [String]

    func run() async throws {
      let list = try options.list(global)
      let users = try UserArgument.read(users)
      try await global.openStore(creating: true, changing: true).audiences.add(users, to: list.segment)
      try list.report(users.count, "\(users.count.grouped) get nothing of \(list.title)", json: global.json)
    }
  }
}
