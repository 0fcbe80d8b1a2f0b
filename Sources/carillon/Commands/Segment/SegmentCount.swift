import ArgumentParser
import CampaignStore
import CommandSupport
import PushCore

extension SegmentCommand {
  /// The command `carillon segment count`.
  struct Count: AuditedCommand {
    static let configuration = CommandConfiguration(
      commandName: "count", abstract: "Count the users and devices that match an expression.",
      discussion: """
        & is and, | is or, ! is not, * is all users; ! binds most tightly, then &. Quote the expression, because these \
        characters are special in the shell. The count includes the devices of all apps, except quarantined devices. \
        --where is a condition as in the audience of a job. With --where, the command counts only devices that match, \
        and only users with such a device.

        Examples:
          carillon segment count 'vip & (sports | news) & !churned'
          carillon segment count '*' --where "locale = 'en' & appVersion >= '5.2' & lastSeen < 30d"
        """)

    static let effect = Effect.reads

    @OptionGroup var global: GlobalOptions
    @Argument(help: "The expression.") var expression: String
    @Option(name: .customLong("where"), help: "A condition on devices and attributes.") var condition: String?

    func run() async throws {
      let parsed = try AudienceExpression(parsing: expression)
      let predicate = try condition.map(SegmentCondition.parse)
      let count = try await global.openStore().audiences.count(parsed, where: predicate)
      guard global.json else {
        return try StandardOutput.printLine("\(count.users.grouped) users, \(count.devices.grouped) devices")
      }
      var json = JSONWriter()
      json.beginObject()
      json.member("expression", parsed.description)
      if let predicate { json.member("where", predicate.description) }
      json.member("users", count.users)
      json.member("devices", count.devices)
      json.endObject()
      try StandardOutput.printLine(json.text)
    }
  }
}
