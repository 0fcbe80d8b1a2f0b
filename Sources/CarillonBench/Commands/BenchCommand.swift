import ArgumentParser

/// `carillon-bench`.
struct BenchCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "carillon-bench",
    abstract: "Measure carillon on this machine.",
    discussion: """
      Measures the program carillon in the folder of carillon-bench. The default subcommand is `all`: its options can \
      follow directly: carillon-bench --only engine,campaign --rounds 3
      """,
    subcommands: [BenchAllCommand.self, BenchEngineCommand.self, BenchLimitsCommand.self],
    defaultSubcommand: BenchAllCommand.self)
}
