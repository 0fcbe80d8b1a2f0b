import ArgumentParser

/// `carillon segment`.
struct SegmentCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "segment",
    abstract: "Keeps the named sets of users that campaigns are sent to.",
    subcommands: [
      Import.self, Add.self, RemoveUsers.self, Define.self, List.self, Count.self, Export.self, Remove.self,
    ])
}
