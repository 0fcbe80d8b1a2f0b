import ArgumentParser
import CampaignStore
import CommandSupport
import PushCore
import PushWorker

extension CampaignCommand {
  /// The command `carillon campaign cancel`.
  struct Cancel: AuditedCommand {
    static let configuration = CommandConfiguration(
      commandName: "cancel",
      abstract:
        "Cancel a campaign. Unsent targets are recorded as cancelled. This can't be undone.",
      discussion: """
        Returns when every worker has stopped sending the campaign, or after 12 s with the names of the workers that \
        have not confirmed this. All parts of the campaign end, and all runs of a recurring campaign. If workers are \
        still finding the devices of the audience, they stop, and the remaining users get no push and no outcome. A \
        scheduled campaign never starts. If the job is still in the queue, the command removes it, and the id can be \
        used again.
        """)

    static let effect = Effect.changes([.campaignCancel])

    @OptionGroup var global: GlobalOptions
    @Argument(help: "The campaign's id.") var id: String
    @Option(help: "The reason, shown with the campaign.") var reason = ""
    @OptionGroup var who: OperatorOptions

    func run() async throws { try await control(id, .cancel, reason: reason, by: who) }
  }
}
