import ArgumentParser
import CommandSupport
import PushCore

extension ChannelCommand {
  /// `carillon channel delete`.
  struct Delete: CarillonCommand {
    static let configuration = CommandConfiguration(
      abstract: "Deletes a channel for good; a message that it keeps may still go out. Exits 1 when there is none.")

    @OptionGroup var global: GlobalOptions
    @Option(help: "An app of the configuration.") var app: String
    @Argument(help: "The channel's id, Base64.") var id: String

    func run() async throws {
      let service = try ChannelService(app: app, global.loadConfiguration())
      _ = try await service.perform(.delete(id: ChannelText.checked(id)))
      try StandardOutput.printLine(global.json ? JSONWriter.object("deleted", id) : "deleted \(Excerpt.harmless(id))")
    }
  }
}
