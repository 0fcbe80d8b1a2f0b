import ArgumentParser
import CampaignStore
import CommandSupport
import PushCore

extension CampaignCommand {
  /// The command `carillon campaign manifest`.
  struct Manifest: AuditedCommand {
    static let configuration = CommandConfiguration(
      commandName: "manifest",
      abstract: "Print the record of a campaign: audience, content, times and operators' actions.",
      discussion: """
        The manifest is one JSON object. It contains users, tokens and texts only as digests. The digest of the \
        audience does not depend on the order of users. The digest of the payload is computed from the job's bytes \
        without white space. The last member is the SHA-256 of all bytes before it. With --check the command compares \
        a copy with this digest and with the campaign in Redis. It exits with 1 if the copy was changed or the \
        campaign differs.

        Examples:
          carillon campaign manifest spring-sale-2026 > spring-sale-2026.json
          carillon campaign manifest spring-sale-2026 --check spring-sale-2026.json
        """)

    /// Maximum size of a copy of a manifest that the command reads, in bytes. A manifest with a timeline, settings and
    /// a thousand time intervals is much smaller.
    private static let readLimit = 8 << 20

    static let effect = Effect.reads

    @OptionGroup var global: GlobalOptions
    @Argument(help: "The campaign's id.") var id: String
    @Option(
      help: ArgumentHelp("Compare this copy with the campaign; - is standard input.", valueName: "file"),
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
      try await copy.compare(with: id, in: store)
      try StandardOutput.printLine(global.json ? CampaignManifest.held(id) : "\(id) matches its manifest")
    }
  }
}
