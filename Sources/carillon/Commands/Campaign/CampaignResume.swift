import ArgumentParser
import CampaignStore
import CommandSupport
import PushCore
import PushWorker

extension CampaignCommand {
  /// `carillon campaign resume`.
  struct Resume: CarillonCommand {
    static let configuration = CommandConfiguration(
      abstract: "Lets a paused campaign go on; one whose time is still ahead is scheduled again.",
      discussion: """
        A campaign that the gate behind a stage has paused goes on with the next stage. Any other pause leaves the gate as \
        it is.

        Whoever was refused before the campaign paused itself is sent to again. It pauses itself again when its answers \
        are still as bad; --unguarded takes APNs at its word instead: what is gone is removed, what is bad goes into \
        quarantine, however many there are, until the campaign ends or is resumed once more.

        Examples:
          carillon campaign show spring-sale
          carillon campaign resume spring-sale
        """)

    @OptionGroup var global: GlobalOptions
    @Argument(help: "The campaign's id.") var id: String
    @Flag(help: "Carry out every prune and quarantine, whatever their share.") var unguarded = false
    @OptionGroup var who: Who

    func run() async throws { try await control(id, .resume, unguarded: unguarded, by: who) }
  }
}
