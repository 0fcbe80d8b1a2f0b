import ArgumentParser
import CampaignStore
import CommandSupport
import PushCore
import PushWorker

extension CampaignCommand {
  /// `carillon campaign resume`.
  struct Resume: CarillonCommand {
    static let configuration = CommandConfiguration(
      abstract: "Resume a paused campaign. If its start time is still ahead, schedule it again.",
      discussion: """
        A campaign that paused after a stage continues with the next stage. Any other pause does not affect the order of \
        stages.

        Targets that were refused before the campaign paused itself are sent again. If the answers are still as bad, the \
        campaign pauses itself again. With --unguarded it does not: until the campaign ends or is resumed again, Carillon \
        removes all unregistered devices and quarantines all bad tokens, whatever their share.

        Examples:
          carillon campaign show spring-sale
          carillon campaign resume spring-sale
        """)

    @OptionGroup var global: GlobalOptions
    @Argument(help: "The campaign's id.") var id: String
    @Flag(help: "Remove unregistered devices and quarantine bad tokens, whatever their share.") var unguarded = false
    @OptionGroup var who: Who

    func run() async throws { try await control(id, .resume, unguarded: unguarded, by: who) }
  }
}
