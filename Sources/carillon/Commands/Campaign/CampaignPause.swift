import ArgumentParser
import CampaignStore
import CommandSupport
import PushCore
import PushWorker

extension CampaignCommand {
  /// `carillon campaign pause`.
  struct Pause: CarillonCommand {
    static let configuration = CommandConfiguration(
      abstract: "Pauses a campaign everywhere; what is in flight is still recorded.",
      discussion: "Returns when every worker has stopped sending it; a scheduled one stays where it is until resumed.")

    @OptionGroup var global: GlobalOptions
    @Argument(help: "The campaign's id.") var id: String
    @Option(help: "Why; shown with the campaign.") var reason = ""
    @OptionGroup var who: Who

    func run() async throws { try await control(id, .pause, reason: reason, by: who) }
  }
}
