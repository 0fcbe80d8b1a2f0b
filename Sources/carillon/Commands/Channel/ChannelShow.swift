import ArgumentParser
import CommandSupport
import PushCore

extension ChannelCommand {
  /// The command `carillon channel show`.
  struct Show: AuditedCommand {
    static let configuration = CommandConfiguration(
      commandName: "show",
      abstract: "Show whether APNs stores the channel's latest message. Exits with 1 if there is no such channel.")

    static let effect = Effect.reads

    @OptionGroup var global: GlobalOptions
    @Option(help: "The app, by its name in the configuration.") var app: String
    @Argument(help: "The channel's id in Base64.") var id: String

    func run() async throws {
      let service = try ChannelService(app: app, global.loadConfiguration())
      guard case .channel(let stores) = try await service.perform(.show(id: ChannelText.checked(id))) else { return }
      try StandardOutput.printLine(
        global.json
          ? ChannelText.json(id, stores: stores)
          : (stores ? "APNs stores the latest message for up to eight hours" : "APNs stores no message"))
    }
  }
}
