import ArgumentParser

/// `carillon devices`.
struct DevicesCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "devices",
    abstract: "Brings devices in and out, and shows them.",
    subcommands: [Import.self, Export.self, Register.self, Unregister.self, Show.self, Sweep.self])
}
