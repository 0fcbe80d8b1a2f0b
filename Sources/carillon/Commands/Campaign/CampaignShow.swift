import ArgumentParser
import CampaignStore
import CommandSupport

extension CampaignCommand {
  /// The command `carillon campaign show`.
  struct Show: AuditedCommand {
    static let configuration = CommandConfiguration(
      commandName: "show", abstract: "Show a campaign's state and counts. Exits with 1 if there is no such campaign.",
      discussion: """
        A job that is still in the queue has the state queued. The command shows its position. If a campaign is ready \
        to send but makes no progress, "waiting" gives the reason: for example, no worker runs, or the push service \
        can't be reached.

        Examples:
          carillon campaign show spring-sale-2026
          carillon campaign show spring-sale-2026 --json | jq .outcomes
        """)

    static let effect = Effect.reads

    @OptionGroup var global: GlobalOptions
    @Argument(help: "The campaign's id.") var id: String

    func run() async throws {
      let store = try await global.openStore()
      switch try await CampaignLookup(store).find(id) {
      case .campaign(var report):
        try await CampaignLookup(store).fill(&report)
        try StandardOutput.printLine(global.json ? report.json : report.text)
      case .queued(let report): try StandardOutput.printLine(global.json ? report.json : report.text)
      case nil: throw try await CampaignLookup(store).absent(id)
      }
    }
  }
}
