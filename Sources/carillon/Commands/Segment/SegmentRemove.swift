import ArgumentParser
import CampaignStore
import CommandSupport
import PushCore

extension SegmentCommand {
  /// `carillon segment remove`.
  struct Remove: CarillonCommand {
    static let configuration = CommandConfiguration(
      abstract: "Remove a segment or a definition; its users stay. Exits with 1 if there is no such segment.",
      discussion: """
        The command fails while a queued job or a campaign that has not ended uses the segment, or while another definition \
        uses it.
        """)

    @OptionGroup var global: GlobalOptions
    @Argument(help: "The segment.") var name: String

    func run() async throws {
      let name = Identifier.trimmed(name)
      let store = try await global.openStore(changing: true)
      guard PlainName.isValid(name), try await store.audiences.removeSegment(name) else {
        throw CommandError(
          .notFound, "there is no segment \(Excerpt.quoted(name))",
          hint: Nearest.hint(
            name, among: try await store.audiences.segmentNames() + store.audiences.definitions().all.keys))
      }
      try StandardOutput.printLine(
        global.json ? JSONWriter.object("segment", name) : "removed \(Excerpt.harmless(name))")
    }
  }
}
