import ArgumentParser

/// The command `carillon store`.
struct StoreCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "store",
    abstract: "Check and repartition Carillon's data in Redis.",
    subcommands: [Check.self, Repartition.self])
}
