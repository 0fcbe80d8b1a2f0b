import ArgumentParser
import PushCore

/// `carillon results`.
struct ResultsCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "results",
    abstract: "Says what became of every token of a campaign.",
    subcommands: [Export.self, Show.self])

  struct Export: CarillonCommand {
    static let configuration = CommandConfiguration(
      abstract: "Writes one line for every token to standard output.",
      discussion: """
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
  }

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
  }
}
