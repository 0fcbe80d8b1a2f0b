import ArgumentParser
import CampaignStore
import CommandSupport
import PushCore
import PushWorker

extension CampaignCommand {
  /// The command `carillon campaign approve`.
  struct Approve: AuditedCommand {
    static let configuration = CommandConfiguration(
      commandName: "approve",
      abstract: "Approve a campaign that needs approval. The approver must not be the submitter.",
      discussion: """
        A campaign needs approval if it has more pushes than apps.NAME.approval.above. It also needs approval after \
        each stage with "approval": true.

        Example:
          carillon campaign approve spring-sale-2026 --by grace
        """)

    static let effect = Effect.changes([.campaignApprove])

    @OptionGroup var global: GlobalOptions
    @Argument(help: "The campaign's id.") var id: String
    @Option(help: "The approver's name.") var by: String

    func validate() throws { try OperatorOptions.check(by) }

    func run() async throws {
      let store = try await global.openStore()
      let (shown, outcome) = try await CampaignActions(store).approve(id, by: by)
      await AuditTrail(store).record(.commandLine, .campaignApprove, id, detail: by)
      if !global.json { for line in shown { StandardError.write(Excerpt.harmless(line) + "\n") } }
      try StandardOutput.printLine(global.json ? outcome.json : outcome.text)
    }
  }
}
