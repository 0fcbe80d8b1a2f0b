import ArgumentParser
import CampaignStore
import CommandSupport
import PushCore
import PushWorker

extension CampaignCommand {
  /// `carillon campaign pause`.
  struct Pause: CarillonCommand {
    static let configuration = CommandConfiguration(
      abstract: "Pause a campaign on all workers.",
      discussion:
        "Returns when every worker has stopped sending the campaign. Answers to pushes in flight are still recorded. A scheduled campaign does not start until it is resumed."
    )

    @OptionGroup var global: GlobalOptions
    @Argument(help: "The campaign's id.") var id: String
    @Option(help: "The reason, shown with the campaign.") var reason = ""
    @OptionGroup var who: Who

    func run() async throws { try await control(id, .pause, reason: reason, by: who) }
  }
}
