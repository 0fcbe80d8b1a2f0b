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
        Devices are of all apps; quarantined ones are left out.

        Example:
          carillon segment count 'vip & (sports | news) & !churned'
        """)

    @OptionGroup var global: GlobalOptions
    @Argument(help: "The expression.") var expression: String

    func run() async throws {
      let parsed = try AudienceExpression(parsing: expression)
      let count = try await global.openStore().count(parsed)
      guard global.json else {
        return try StandardOutput.printLine("\(count.users.grouped) users, \(count.devices.grouped) devices")
      }
      var json = JSONWriter()
      json.beginObject()
      json.member("expression", parsed.description)
      json.member("users", count.users)
      json.member("devices", count.devices)
      json.endObject()
      try StandardOutput.printLine(json.text)
    }
  }
}
