import APNs
import ArgumentParser
import CommandSupport
import PushCore

/// `carillon channel`.
struct ChannelCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "channel",
    abstract:
      "Keeps the broadcast channels of an app: one push to a channel updates the Live Activities of all who listen.",
    discussion: """
      A channel belongs to one app and one environment; an app has at most 10,000 of each. Apple's servers for this \
      listen on ports 2196 (production) and 2195 (sandbox); apps.NAME.channelEndpoint names another.

      Examples:
        carillon channel create --app news
        carillon channel list --app news
      """,
    subcommands: [Create.self, List.self, Show.self, Delete.self])
}

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

  /// `carillon channel list`.
  struct List: CarillonCommand {
    static let configuration = CommandConfiguration(abstract: "Prints the ids of an app's channels, one a line.")

    @OptionGroup var global: GlobalOptions
    @Option(help: "An app of the configuration.") var app: String

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

/// What the commands on channels share.
private enum ChannelText {
  /// The id, if it can be one.
  static func checked(_ id: String) throws(CommandError) -> String {
    if let problem = ChannelID.problem(id) {
      throw CommandError(.input, "ID: \(problem)", hint: "take it as `carillon channel list` prints it")
    }
    return id
  }

  static func json(_ id: String, stores: Bool) -> String {
    var json = JSONWriter()
    json.beginObject()
    json.member("id", id)
    json.member("stores", stores)
    json.endObject()
    return json.text
  }
}
