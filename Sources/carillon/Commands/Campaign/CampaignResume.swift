import ArgumentParser
import CampaignStore
import CommandSupport
import PushCore
import PushWorker

extension CampaignCommand {
  /// The command `carillon campaign resume`.
  struct Resume: AuditedCommand {
    static let configuration = CommandConfiguration(
      commandName: "resume",
      abstract: "Resume a paused campaign. If its start time is in the future, schedule it again.",
      discussion: """
        A campaign that Carillon paused after a stage continues with the next stage. After any other pause, the \
        campaign continues in the same stage. The command names what it resumes, such as the runs of a recurring \
        campaign, each with the reason of its pause.

        If Carillon paused the campaign because of bad answers, it sends the refused targets again. If the answers are \
        still as bad, it pauses the campaign again. With --unguarded it does not pause the campaign. Until the \
        campaign ends or is resumed again, Carillon then removes all unregistered devices and quarantines all bad \
        tokens, without a limit.

        Examples:
          carillon campaign show spring-sale
          carillon campaign resume spring-sale
        """)

    static let effect = Effect.changes([.campaignResume])

    @OptionGroup var global: GlobalOptions
    @Argument(help: "The campaign's id.") var id: String
    @Flag(help: "Remove all unregistered devices and quarantine all bad tokens, however many.") var unguarded = false
    @Option(help: "Resume only the pushes to this push service.") var service: String?
    @OptionGroup var who: OperatorOptions

    func run() async throws { try await control(id, .resume, unguarded: unguarded, service: service, by: who) }
  }
}
