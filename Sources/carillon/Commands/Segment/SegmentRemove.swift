import ArgumentParser
import CampaignStore
import CommandSupport
import PushCore

extension SegmentCommand {
  /// The command `carillon segment remove`.
  struct Remove: AuditedCommand {
    static let configuration = CommandConfiguration(
      commandName: "remove",
      abstract: "Remove a segment. Its users and devices are not removed. Exits with 1 if there is no such segment.",
      discussion: """
        The command fails if a queued job, a campaign that has not ended, or another definition uses the segment.
        """)

    static let effect = Effect.changes([.segmentDelete])

    @OptionGroup var global: GlobalOptions
    @Argument(help: "The segment.") var name: String

    func run() async throws {
      let name = Identifier.trimmed(name)
      let store = try await global.openStore(changing: true)
      try await UserListChange(store: store, actor: .commandLine).remove(segment: name)
      try StandardOutput.printLine(
        global.json ? JSONWriter.object("segment", name) : "removed \(Excerpt.harmless(name))")
    }
  }
}
