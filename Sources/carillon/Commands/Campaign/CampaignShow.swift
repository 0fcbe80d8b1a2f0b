import ArgumentParser
import CampaignStore
import CommandSupport

extension CampaignCommand {
  /// `carillon campaign show`.
  struct Show: CarillonCommand {
    static let configuration = CommandConfiguration(
      abstract: "Shows a campaign's state and counts; exits 1 when there is no such campaign.",
      discussion: """
        A job that no worker has taken in yet is queued: it is shown with its place. Where a campaign could be sent and \
        is not, waiting says why: no worker is there, or its push service can't be reached.

        Examples:
          carillon campaign show spring-sale-2026
          carillon campaign show spring-sale-2026 --json | jq .outcomes
        """)

    @OptionGroup var global: GlobalOptions
    @Argument(help: "The campaign's id.") var id: String

    func run() async throws {
      let store = try await global.openStore()
      switch try await CampaignLookup(store).look(id) {
      case .campaign(var report):
        try await CampaignLookup(store).fill(&report)
        try StandardOutput.printLine(global.json ? report.json : report.text)
      case .queued(let report): try StandardOutput.printLine(global.json ? report.json : report.text)
      case nil: throw try await CampaignLookup(store).absent(id)
      }
    }
  }
}
