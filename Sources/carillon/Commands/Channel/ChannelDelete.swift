import ArgumentParser
import CommandSupport
import PushCore

extension ChannelCommand {
  /// `carillon channel delete`.
  struct Delete: CarillonCommand {
    static let configuration = CommandConfiguration(
      abstract:
        "Delete a channel permanently. APNs may still send a message that it stored. Exits with 1 if there is none.")

    @OptionGroup var global: GlobalOptions
    @Option(help: "The app, by its name in the configuration.") var app: String
    @Argument(help: "The channel's id in Base64.") var id: String

    func run() async throws {
      let service = try ChannelService(app: app, global.loadConfiguration())
      _ = try await service.perform(.delete(id: ChannelText.checked(id)))
      try StandardOutput.printLine(global.json ? JSONWriter.object("deleted", id) : "deleted \(Excerpt.harmless(id))")
    }
  }
}
