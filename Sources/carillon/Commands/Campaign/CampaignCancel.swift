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
        "Ends a campaign: targets that were not sent are recorded as cancelled, users not expanded yet never become targets. There is no way back.",
      discussion: """
        Returns when every worker has stopped sending it. All stages and companions end with it, and of a repeated \
        campaign the last run. A campaign that is scheduled never starts. A job that no \
        worker has taken in yet is taken off the queue, and its id is free again.
        """)

    @OptionGroup var global: GlobalOptions
    @Argument(help: "The campaign's id.") var id: String
    @Option(help: "Why; shown with the campaign.") var reason = ""
    @OptionGroup var who: Who

    func run() async throws { try await control(id, .cancel, reason: reason, by: who) }
  }
}
