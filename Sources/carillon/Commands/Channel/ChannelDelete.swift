import ArgumentParser
import CommandSupport
import PushCore

extension ChannelCommand {
  /// The command `carillon channel delete`.
  struct Delete: AuditedCommand {
    static let configuration = CommandConfiguration(
      commandName: "delete",
      abstract: """
        Delete a channel permanently. APNs may still send a message that it stored. Exits with 1 if there is no such \
        channel.
        """)

    static let effect = Effect.changes([.channelDelete])

    @OptionGroup var global: GlobalOptions
    @Option(help: "The app, by its name in the configuration.") var app: String
    @Argument(help: "The channel's id in Base64.") var id: String

    func run() async throws {
      let configuration = try global.loadConfiguration()
      let service = try ChannelService(app: app, configuration)
      _ = try await service.perform(.delete(id: ChannelText.checked(id)))
      await ChannelText.audit(.channelDelete, app, channel: id, configuration)
      try StandardOutput.printLine(global.json ? JSONWriter.object("deleted", id) : "deleted \(Excerpt.harmless(id))")
    }
  }
}
