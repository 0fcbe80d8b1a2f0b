import ArgumentParser

/// The command `carillon devices`.
struct DevicesCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "devices",
    abstract: "Import, export, register and inspect devices.",
    subcommands: [Import.self, Export.self, Register.self, Unregister.self, Show.self, Sweep.self])
}
