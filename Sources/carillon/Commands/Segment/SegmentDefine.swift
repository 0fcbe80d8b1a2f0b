import ArgumentParser
import CampaignStore
import CommandSupport
import PushCore

extension SegmentCommand {
  /// The command `carillon segment define`.
  struct Define: AuditedCommand {
    static let configuration = CommandConfiguration(
      commandName: "define", abstract: "Define a segment by an expression and an optional condition.",
      discussion: """
        The segment contains the users that match the expression and have a device that matches --where. Carillon \
        reads the definition when a campaign or one of its stages begins, and when you count the segment. You can use \
        the segment wherever a segment is allowed. Definitions can use other definitions, up to 8 levels deep. A new \
        definition replaces the old one, but campaigns and stages that have begun use the old one.

        Examples:
          carillon segment define fans 'sports & !churned'
          carillon segment define newcomers '*' --where "registeredAt < 7d"
          carillon segment define sleepers 'fans & !newcomers' --where 'lastSeen > 30d'
        """)

    static let effect = Effect.changes([.segmentDefine])

    @OptionGroup var global: GlobalOptions
    @Argument(help: "The segment's name: 1 to 64 characters of A-Z a-z 0-9 . _ -") var name: String
    @Argument(help: "The expression.") var expression: String
    @Option(name: .customLong("where"), help: "A condition on devices and attributes.") var condition: String?

    func run() async throws {
      let name = try SegmentName.read(name)
      let definition = SegmentDefinition(
        expression: try AudienceExpression(parsing: expression), predicate: try condition.map(SegmentCondition.parse))
      let store = try await global.openStore(creating: true, changing: true)
      try await UserListChange(store: store, actor: .commandLine).define(name, definition)
      guard global.json else {
        return try StandardOutput.printLine(Excerpt.harmless("defined \(name) as \(definition)"))
      }
      var json = JSONWriter()
      json.beginObject()
      json.member("segment", name)
      json.name("definition")
      definition.write(to: &json)
      json.endObject()
      try StandardOutput.printLine(json.text)
    }
  }
}

/// A condition in a command's arguments.
enum SegmentCondition {
  static func parse(_ text: String) throws -> DevicePredicate {
    do {
      return try DevicePredicate(parsing: text)
    } catch {
      throw CommandError(
        .input, "--where, \(error)", hint: "a condition looks like: locale = 'en' & appVersion >= '5.2'")
    }
  }
}
