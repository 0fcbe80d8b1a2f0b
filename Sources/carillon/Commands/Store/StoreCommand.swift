import ArgumentParser

/// `carillon store`.
struct StoreCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "store",
    abstract: "Looks after what Carillon keeps in Redis as a whole.",
    subcommands: [Check.self, Repartition.self])
}
