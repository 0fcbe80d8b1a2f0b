import ArgumentParser

/// `carillon results`.
struct ResultsCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "results",
    abstract: "Says what became of every token of a campaign.",
    subcommands: [Export.self, Show.self])
}
