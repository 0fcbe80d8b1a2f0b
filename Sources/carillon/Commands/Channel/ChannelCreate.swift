import ArgumentParser
import CommandSupport
import PushCore

extension ChannelCommand {
  /// `carillon channel create`.
  struct Create: CarillonCommand {
    static let configuration = CommandConfiguration(abstract: "Create a channel. Prints its id.")

    @OptionGroup var global: GlobalOptions
    @Option(help: "The app, by its name in the configuration.") var app: String
    @Flag(
      help: """
        Keep the latest message for up to eight hours for devices that are offline; this can't be changed later. Without \
        this option APNs keeps no message, and allows more frequent pushes to the channel.
        """)
    var store = false

    func run() async throws {
      let service = try ChannelService(app: app, global.loadConfiguration())
      guard case .created(let id) = try await service.perform(.create(stores: store)) else { return }
      try StandardOutput.printLine(global.json ? ChannelText.json(id, stores: store) : Excerpt.harmless(id))
    }
  }
}
