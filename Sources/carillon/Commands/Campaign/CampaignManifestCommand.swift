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
        let manifest = CampaignManifest(copy: text)
        guard manifest.isIntact else {
          throw CommandError(
            .failed, "\(check) is not as it was written: its SHA-256 does not hold",
            hint: "take another copy, or make one from the campaign: carillon campaign manifest \(id)")
        }
        guard manifest.campaign == id else {
          throw CommandError(
            .failed, "\(check) is of campaign \(Excerpt.quoted(manifest.campaign ?? "")), not of \(Excerpt.quoted(id))",
            hint: "give the id that it names")
        }
        copy = manifest
      }
      let store = try await global.openStore()
      let manifest = try await CampaignManifest(of: id, in: store)
      guard let copy else { return try StandardOutput.printLine(manifest.json) }
      let differences = copy.differences(from: manifest)
      guard differences.isEmpty else {
        throw CommandError(
          .failed, "campaign \(id) is another than its manifest says: \(differences.joined(separator: ", "))",
          hint: "a campaign that has not ended goes on changing; receipts come later, too")
      }
      try StandardOutput.printLine(global.json ? #"{"id":"\#(id)","holds":true}"# : "\(id) is as its manifest says")
    }
  }
}
