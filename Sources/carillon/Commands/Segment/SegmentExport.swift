import ArgumentParser
import CampaignStore
import CommandSupport
import PushCore

extension SegmentCommand {
  /// `carillon segment export`.
  struct Export: CarillonCommand {
    static let configuration = CommandConfiguration(
      abstract: "Writes the users that an expression reaches to standard output, one a line.",
      discussion: """
        Example:
          carillon segment export 'vip & !churned' > users.txt
        """)

    @OptionGroup var global: GlobalOptions
    @Argument(help: "The expression.") var expression: String

    func run() async throws {
      let parsed = try AudienceExpression(parsing: expression)
      var output = StandardOutput()
      var json = JSONWriter()
      try await global.openStore().forEachMember(of: parsed) { users in
        for user in users {
          guard global.json else {
            try output.writeLine(SegmentLine.text(of: user))
            continue
          }
          json.value(user)
          json.endLine()
          try output.write(json.take())
        }
      }
      try output.flush()
    }
  }
}
