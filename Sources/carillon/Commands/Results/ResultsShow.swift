import ArgumentParser
import CampaignStore
import CommandSupport
import PushCore

extension ResultsCommand {
  /// `carillon results show`.
  struct Show: CarillonCommand {
    static let configuration = CommandConfiguration(
      abstract: "Shows what became of one token; exits 1 when it was not a target.",
      discussion: """
        Example:
          carillon results show spring-sale-2026 --token 0f2c…
        """)

    @OptionGroup var global: GlobalOptions
    @Argument(help: "The campaign's id.") var id: String
    @Option(help: "The device token, hex.") var token: String

    func run() async throws {
      let token = try DeviceToken(argument: token)
      let store = try await global.openStore()
      guard try await store.campaign(id) != nil else { throw try await store.whereIs(id) }
      guard let result = try await store.result(of: token, in: id) else {
        throw CommandError(
          .notFound, "the token was no target of campaign \(Excerpt.quoted(id))",
          hint: "its user may not be in the audience; see: carillon devices show USER")
      }
      var writer = ResultWriter(campaign: id, format: .ndjson)
      if global.json {
        writer.append(result)
        var output = StandardOutput()
        try output.write(writer.take())
        return try output.flush()
      }
      let row = writer.row(result)
      try StandardOutput.printLine(
        TextTable(row.map { [$0.name, $0.text.map(Excerpt.harmless) ?? "-"] }).text)
    }
  }
}
