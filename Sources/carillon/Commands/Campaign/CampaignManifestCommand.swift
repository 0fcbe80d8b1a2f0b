import ArgumentParser
import CampaignStore
import CommandSupport
import PushCore

extension CampaignCommand {
  /// `carillon campaign manifest`.
  struct Manifest: CarillonCommand {
    static let configuration = CommandConfiguration(
      abstract: "Prints what a campaign was: whom it went to, what it said, when, and who did what with it.",
      discussion: """
        One JSON object. Users, tokens and texts are in it as digests only: that of the audience is the same whatever the \
        order, that of the payload is of the job's own bytes without white space. Its last member is the SHA-256 of what \
        stands before it. With --check a copy is held against that, and against what Redis knows of the campaign now: \
        exits 1 where it was changed, or the campaign is another.

        Examples:
          carillon campaign manifest spring-sale-2026 > spring-sale-2026.json
          carillon campaign manifest spring-sale-2026 --check spring-sale-2026.json
        """)

    /// The timeline, the settings and a thousand stretches of time are much less.
    private static let readLimit = 8 << 20

    @OptionGroup var global: GlobalOptions
    @Argument(help: "The campaign's id.") var id: String
    @Option(
      help: ArgumentHelp("Hold this copy against the campaign; - is standard input.", valueName: "file"),
      completion: .file(extensions: ["json"]))
    var check: String?

    func run() async throws {
      var copy: CampaignManifest?
      if let check {
        let text = String(decoding: try InputFile.contents(check, limit: Self.readLimit), as: UTF8.self)
        copy = try CampaignManifest(copy: text, of: id, check)
      }
      let store = try await global.openStore()
      guard let copy else {
        return try await StandardOutput.printLine(CampaignManifest(of: id, in: store).json)
      }
      try await copy.hold(against: id, in: store)
      try StandardOutput.printLine(global.json ? CampaignManifest.held(id) : "\(id) is as its manifest says")
    }
  }
}
