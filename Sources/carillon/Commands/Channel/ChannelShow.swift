import ArgumentParser
import CommandSupport
import PushCore

extension ChannelCommand {
  /// `carillon channel show`.
  struct Show: CarillonCommand {
    static let configuration = CommandConfiguration(
      abstract: "Says whether a channel keeps its latest message. Exits 1 when there is no such channel.")

    @OptionGroup var global: GlobalOptions
    @Option(help: "An app of the configuration.") var app: String
    @Argument(help: "The channel's id, Base64.") var id: String

    func run() async throws {
      let service = try ChannelService(app: app, global.loadConfiguration())
      guard case .channel(let stores) = try await service.perform(.show(id: ChannelText.checked(id))) else { return }
      try StandardOutput.printLine(
        global.json
          ? ChannelText.json(id, stores: stores)
          : (stores ? "keeps the latest message for up to eight hours" : "keeps no message"))
    }
  }
}
