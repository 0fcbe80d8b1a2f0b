import ArgumentParser
import CampaignStore
import CommandSupport
import PushCore

extension SegmentCommand {
  /// `carillon segment count`.
  struct Count: CarillonCommand {
    static let configuration = CommandConfiguration(
      abstract: "Counts the users and devices that an expression reaches.",
      discussion: """
        & is and, | is or, ! is not, * is everybody; ! binds tightest, then &. Quote it: the shell knows these too. \
        Devices are of all apps; quarantined ones are left out. With --where, a condition as the audience of a job has it, \
        only devices for which it holds count, and users who have one.

        Examples:
          carillon segment count 'vip & (sports | news) & !churned'
          carillon segment count '*' --where "locale = 'en' & appVersion >= '5.2' & lastSeen < 30d"
        """)

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
