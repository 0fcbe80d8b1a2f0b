import ArgumentParser

/// The command `carillon dead`.
struct DeadCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "dead",
    abstract: "List, retry and drop jobs on the dead list.",
    subcommands: [List.self, Show.self, Retry.self, Drop.self])

  /// The jobs that a command acts on.
  struct Selection: ParsableArguments {
    @Argument(help: "Keys of jobs, from `carillon dead list`.") var keys: [String] = []
    @Flag(help: "Select all jobs on the list.") var all = false

    func validate() throws {
      if all != keys.isEmpty { throw ValidationError("Give either keys or --all.") }
    }
  }
}
