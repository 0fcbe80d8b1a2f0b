import ArgumentParser

/// The command `carillon segment`.
struct SegmentCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "segment",
    abstract: "Manage segments: named sets of users.",
    subcommands: [
      Import.self, Add.self, RemoveUsers.self, Define.self, List.self, Count.self, Export.self, Remove.self,
    ])
}
