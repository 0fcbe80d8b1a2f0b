import ArgumentParser
import CommandSupport
import PushCore

/// `carillon suppression`.
struct SuppressionCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "suppression",
    abstract: "Keeps the users to whom an app sends nothing, or nothing of a category.",
    discussion: """
      A list belongs to an app, and every campaign of the app keeps to it: no job has to name it, and none can forget it. \
      With --category it holds for campaigns of that category only, which say so in their field category. A campaign that says \
      "transactional": true goes to everybody; workers log it. A list counts when a slice is expanded: who is \
      put on it while a campaign runs may still get that one. Lists of device tokens have no users: they are sent as they are.
      """,
    subcommands: [Import.self, Add.self, Remove.self, List.self, Export.self])
}

/// Which list a command is about.
struct SuppressionOptions: ParsableArguments {
  @Argument(help: "The app, by its name in the configuration.") var app: String
  @Option(help: "Only what is of this category: 1 to 64 of A-Z a-z 0-9 . _ -") var category: String?

  /// - Throws: `CommandError` when there is no such app, or the category can be none.
  func list(_ global: GlobalOptions) throws -> SuppressionList {
    let apps = try global.loadConfiguration().apps
    guard apps[app] != nil else {
      throw CommandError(
        .input, "no app \(Excerpt.quoted(app)) in the configuration", hint: Nearest.hint(app, among: apps.keys))
    }
    if let category, !PlainName.isValid(category) {
      throw CommandError(
        .input, "\(Excerpt.quoted(category)) can't name a category", hint: "it must be \(PlainName.form)")
    }
    return SuppressionList(app: app, category: category)
  }
}

extension SuppressionList {
  /// For people: `news`, or `news, category marketing`.
  var title: String { app + (category.map { ", category \($0)" } ?? "") }
}
