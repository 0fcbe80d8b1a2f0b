import APNs
import ArgumentParser
import CommandSupport
import PushCore

/// The command `carillon channel`.
struct ChannelCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "channel",
    abstract:
      "Manage broadcast channels: one push to a channel updates the Live Activities of all subscribers.",
    discussion: """
      A channel belongs to one app and one environment. An app can have 10,000 channels in each environment. Apple's \
      servers for channel management listen on ports 2196 (production) and 2195 (sandbox); \
      apps.NAME.apns.channelEndpoint sets another address.

      Examples:
        carillon channel create --app news
        carillon channel list --app news
      """,
    subcommands: [Create.self, List.self, Show.self, Delete.self])
}

/// Functions that the channel commands share.
enum ChannelText {
  /// Returns `id`. Throws an error if this text can't be the id of a channel.
  static func checked(_ id: String) throws(CommandError) -> String {
    if let problem = ChannelID.problem(id) {
      throw CommandError(.input, "ID: \(problem)", hint: "copy it from `carillon channel list`")
    }
    return id
  }

  /// Records a change in the audit log. The channel commands need Redis only for this record, so a failure only logs a
  /// warning.
  static func audit(
    _ action: AuditAction, _ app: String, channel id: String, _ configuration: CarillonConfiguration
  ) async {
    guard let connection = try? StoreConnection(configuration.redis) else { return }
    await AuditTrail(connection.store(for: "carillon")).record(.commandLine, action, app, detail: id)
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
