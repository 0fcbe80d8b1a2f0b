import ArgumentParser
import CommandSupport
import PushCore

extension ChannelCommand {
  /// `carillon channel create`.
  struct Create: CarillonCommand {
    static let configuration = CommandConfiguration(abstract: "Makes a channel; prints its id.")

    @OptionGroup var global: GlobalOptions
    @Option(help: "An app of the configuration.") var app: String
    @Flag(
      help: """
        APNs keeps the latest message for up to eight hours for devices that are offline; this can't be changed later. \
        Without it nothing is kept, and the channel may be sent to more often.
        """)
    var store = false

    func run() async throws {
      let service = try ChannelService(app: app, global.loadConfiguration())
      guard case .created(let id) = try await service.perform(.create(stores: store)) else { return }
      try StandardOutput.printLine(global.json ? ChannelText.json(id, stores: store) : Excerpt.harmless(id))
    }
  }
}
