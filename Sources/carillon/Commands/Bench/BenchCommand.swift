import ArgumentParser

/// `carillon bench`.
struct BenchCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "bench",
    abstract: "Measures this program on this machine.",
    discussion: """
      Without a subcommand it is `bench all`, with the options of that: carillon bench --only engine,campaign --rounds 3
      """,
    subcommands: [BenchAllCommand.self, BenchEngineCommand.self, BenchLimitsCommand.self],
    defaultSubcommand: BenchAllCommand.self)
}
