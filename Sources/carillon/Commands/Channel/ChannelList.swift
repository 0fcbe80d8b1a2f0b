import ArgumentParser
import CommandSupport
import PushCore

extension ChannelCommand {
  /// The command `carillon channel list`.
  struct List: AuditedCommand {
    static let configuration = CommandConfiguration(
      commandName: "list", abstract: "List the ids of an app's channels, one per line.")

    static let effect = Effect.reads

    @OptionGroup var global: GlobalOptions
    @Option(help: "The app, by its name in the configuration.") var app: String

    func run() async throws {
      let service = try ChannelService(app: app, global.loadConfiguration())
      guard case .channels(let ids) = try await service.perform(.list) else { return }
      var output = StandardOutput()
      if global.json {
        var json = JSONWriter()
        json.beginArray()
        for id in ids { json.value(id) }
        json.endArray()
        try output.writeLine(json.text)
      } else {
        for id in ids { try output.writeLine(Excerpt.harmless(id)) }
      }
      try output.flush()
    }
  }
}
