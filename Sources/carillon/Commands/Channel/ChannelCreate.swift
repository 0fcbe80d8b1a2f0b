import ArgumentParser
import CommandSupport
import PushCore

extension ChannelCommand {
  /// The command `carillon channel create`.
  struct Create: AuditedCommand {
    static let configuration = CommandConfiguration(commandName: "create", abstract: "Create a channel. Prints its id.")

    static let effect = Effect.changes([.channelCreate])

    @OptionGroup var global: GlobalOptions
    @Option(help: "The app, by its name in the configuration.") var app: String
    @Flag(
      help: """
        Let APNs store the latest message for devices that are offline, for up to eight hours. This can't be changed \
        later. Without this option, APNs stores no message and allows more pushes per hour to the channel.
        """)
    var store = false

    func run() async throws {
      let configuration = try global.loadConfiguration()
      let service = try ChannelService(app: app, configuration)
      guard case .created(let id) = try await service.perform(.create(stores: store)) else { return }
      await ChannelText.audit(.channelCreate, app, channel: id, configuration)
      try StandardOutput.printLine(global.json ? ChannelText.json(id, stores: store) : Excerpt.harmless(id))
    }
  }
}
