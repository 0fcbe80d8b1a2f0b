import ArgumentParser
import CampaignStore
import CommandSupport
import PushCore
import PushWorker

extension CampaignCommand {
  /// The command `carillon campaign pause`.
  struct Pause: AuditedCommand {
    static let configuration = CommandConfiguration(
      commandName: "pause", abstract: "Pause a campaign on all workers.",
      discussion: """
        Returns when every worker has stopped sending the campaign, or after 12 s with the names of the workers that \
        have not confirmed this. Answers to pushes in flight are still recorded. A scheduled campaign does not start \
        until it is resumed. With --service, only the leg for this push service is paused.

        Examples:
          carillon campaign pause spring-sale --reason "wrong price"
          carillon campaign pause spring-sale --service fcm
        """)

    static let effect = Effect.changes([.campaignPause])

    @OptionGroup var global: GlobalOptions
    @Argument(help: "The campaign's id.") var id: String
    @Option(help: "The reason, shown with the campaign.") var reason = ""
    @Option(help: "Pause only the pushes to this push service.") var service: String?
    @OptionGroup var who: OperatorOptions

    func run() async throws { try await control(id, .pause, reason: reason, service: service, by: who) }
  }
}
