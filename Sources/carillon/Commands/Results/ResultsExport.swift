import ArgumentParser
import CampaignStore
import CommandSupport
import PushCore

extension ResultsCommand {
  /// `carillon results export`.
  struct Export: CarillonCommand {
    static let configuration = CommandConfiguration(
      abstract: "Writes one line for every token to standard output.",
      discussion: """
        A token of a campaign that has not ended may have no outcome yet. --json is --format ndjson.

        Examples:
          carillon results export spring-sale-2026 > results.ndjson
          carillon results export spring-sale-2026 --format csv --only unregistered
        """)

    @OptionGroup var global: GlobalOptions
    @Argument(help: "The campaign's id.") var id: String
    @Option(help: "ndjson or csv.") var format: DeviceRowReader.Format = .ndjson
    @Option(
      help: ArgumentHelp(
        "One outcome only: " + Outcome.allCases.map(\.name).joined(separator: ", ") + ".", valueName: "outcome"))
    var only: Outcome?
    @Flag(help: "Put an apostrophe before cells that a spreadsheet would take for a formula.")
    var spreadsheetSafe = false

    func run() async throws {
      let store = try await global.openStore()
      guard let total = try await store.show(id)?.counters.targets else { throw try await store.whereIs(id) }
      var output = StandardOutput()
      var writer = ResultWriter(
        campaign: id, format: global.json ? .ndjson : format, spreadsheetSafe: spreadsheetSafe)
      var bar = ProgressBar("exporting", unit: "results", total: total)
      var read = 0
      try await store.forEachResult(of: id) { results in
        for result in results where only == nil || result.outcome == only { writer.append(result) }
        try output.write(writer.take())
        read += results.count
        bar.update(done: read)
        return true
      }
      try output.write(writer.take())
      try output.flush()
      bar.finish()
    }
  }
}
