import ArgumentParser

/// `carillon dead`.
struct DeadCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "dead",
    abstract: "Shows jobs that could not be run, and runs or drops them.",
    subcommands: [List.self, Show.self, Retry.self, Drop.self])

  /// The jobs that a command is about.
  struct Selection: ParsableArguments {
    @Argument(help: "Keys, as `carillon dead list` shows them.") var keys: [String] = []
    @Flag(help: "All that are in the list now.") var all = false

    func validate() throws {
      if all != keys.isEmpty { throw ValidationError("Give either keys or --all.") }
    }
  }
}
