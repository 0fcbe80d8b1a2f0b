import ArgumentParser
import CampaignStore
import CommandSupport
import PushCore

extension SegmentCommand {
  /// `carillon segment remove`.
  struct Remove: CarillonCommand {
    static let configuration = CommandConfiguration(
      abstract: "Removes a segment, be it a list of users, who stay, or a definition. Exits 1 when there is none.")

    @OptionGroup var global: GlobalOptions
    @Argument(help: "The segment.") var name: String

    func run() async throws {
      let store = try await global.openStore(changing: true)
      guard PlainName.isValid(name), try await store.removeSegment(name) else {
        throw CommandError(
          .notFound, "there is no segment \(Excerpt.quoted(name))",
          hint: Nearest.hint(name, among: try await store.segmentNames() + store.definitions().all.keys))
      }
      try StandardOutput.printLine(
        global.json ? JSONWriter.object("segment", name) : "removed \(Excerpt.harmless(name))")
    }
  }
}
