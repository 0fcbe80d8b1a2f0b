import ArgumentParser
import CampaignStore
import CommandSupport
import PushCore

extension SegmentCommand {
  /// The command `carillon segment export`.
  struct Export: AuditedCommand {
    static let configuration = CommandConfiguration(
      commandName: "export", abstract: "Write the users that match an expression to standard output, one per line.",
      discussion: """
        Example:
          carillon segment export 'vip & !churned' > users.txt
        """)

    static let effect = Effect.reads

    @OptionGroup var global: GlobalOptions
    @Argument(help: "The expression.") var expression: String

    func run() async throws {
      let parsed = try AudienceExpression(parsing: expression)
      var output = StandardOutput()
      try await global.openStore().audiences.forEachMember(of: parsed) { users in
        for user in users { try output.write(user, json: global.json) }
      }
      try output.flush()
    }
  }
}

extension StandardOutput {
  /// Writes the id of a user as a line: in the format of a file for `segment import`, or as JSON.
  mutating func write(_ user: String, json isJSON: Bool) throws {
    guard isJSON else { return try writeLine(SegmentLine.text(of: user)) }
    var json = JSONWriter()
    json.value(user)
    json.endLine()
    try write(json.take())
  }
}
