import ArgumentParser

/// `carillon bench`.
struct BenchCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "bench",
    abstract: "Measures this program on this machine.",
    subcommands: [BenchAllCommand.self, BenchEngineCommand.self, BenchLimitsCommand.self],
    defaultSubcommand: BenchAllCommand.self)
}
