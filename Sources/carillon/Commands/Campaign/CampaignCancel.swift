import ArgumentParser
import CampaignStore
import CommandSupport
import PushCore
import PushWorker

extension CampaignCommand {
  /// `carillon campaign cancel`.
  struct Cancel: CarillonCommand {
    static let configuration = CommandConfiguration(
      abstract:
        "Cancel a campaign. Unsent targets are recorded as cancelled. This can't be undone.",
      discussion: """
        Returns when every worker has stopped sending the campaign. All its stages and companions end too; of a recurring \
        campaign, the latest run ends too. Users that are not expanded yet never become targets. A scheduled campaign never \
        starts. A job that is still in the queue is removed from the queue, and its id is free again.
        """)

    @OptionGroup var global: GlobalOptions
    @Argument(help: "The campaign's id.") var id: String
    @Option(help: "The reason, shown with the campaign.") var reason = ""
    @OptionGroup var who: Who

    func run() async throws { try await control(id, .cancel, reason: reason, by: who) }
  }
}
