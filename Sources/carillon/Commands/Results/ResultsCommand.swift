import ArgumentParser

/// The command `carillon results`.
struct ResultsCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "results",
    abstract: "Show and export the outcomes of a campaign.",
    subcommands: [Export.self, Show.self])
}
