import ArgumentParser
import CampaignStore
import CommandSupport

extension CampaignCommand {
  /// `carillon campaign show`.
  struct Show: CarillonCommand {
    static let configuration = CommandConfiguration(
      abstract: "Shows a campaign's state and counts; exits 1 when there is no such campaign.",
      discussion: """
        Examples:
          carillon campaign show spring-sale-2026
          carillon campaign show spring-sale-2026 --json | jq .outcomes
        """)

    @OptionGroup var global: GlobalOptions
    @Argument(help: "The campaign's id.") var id: String

    func run() async throws {
      let store = try await global.openStore()
      guard let record = try await store.show(id) else { throw try await store.whereIs(id) }
      let report = CampaignReport(record)
      try StandardOutput.printLine(global.json ? report.json : report.text)
    }
  }
}
