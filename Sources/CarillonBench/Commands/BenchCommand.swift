import ArgumentParser

/// `carillon-bench`.
struct BenchCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "carillon-bench",
    abstract: "Measures carillon on this machine.",
    discussion: """
      What is measured is the program that lies beside this one. Without a subcommand it is `all`, with the options of \
      that: carillon-bench --only engine,campaign --rounds 3
      """,
    subcommands: [BenchAllCommand.self, BenchEngineCommand.self, BenchLimitsCommand.self],
    defaultSubcommand: BenchAllCommand.self)
}
