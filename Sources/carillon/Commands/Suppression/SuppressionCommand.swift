import ArgumentParser
import CommandSupport
import PushCore

/// The command `carillon suppression`.
struct SuppressionCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "suppression",
    abstract: "Manage suppression lists: users who opted out of an app or of one category.",
    discussion: """
      A list applies to every campaign of its app, even if the job does not name it. A list with --category applies \
      only to campaigns with this value in the field category. A campaign with "transactional": true ignores the \
      lists, and workers log this. If you add a user while a campaign runs, the user may still get the push. Lists do \
      not apply to campaigns that target device tokens, because tokens have no users.
      """,
    subcommands: [Import.self, Add.self, Remove.self, List.self, Export.self])
}

/// The list that a command acts on.
struct SuppressionOptions: ParsableArguments {
  @Argument(help: "The app's name in the configuration.") var app: String
  @Option(help: "The category, for the list of one category: 1 to 64 characters of A-Z a-z 0-9 . _ -")
  var category: String?

  /// Returns the list that the options select.
  ///
  /// - Throws: `CommandError` if there is no such app, or if the category's name is invalid.
  func list(_ global: GlobalOptions) throws -> SuppressionList {
    let apps = try global.loadConfiguration().apps
    guard apps[app] != nil else {
      throw CommandError(
        .input, "no app \(Excerpt.quoted(app)) in the configuration", hint: Nearest.hint(app, among: apps.keys))
    }
    if let category, !PlainName.isValid(category) {
      throw CommandError(
        .input, "\(Excerpt.quoted(category)) is not a valid category name", hint: "it must be \(PlainName.form)")
    }
    return SuppressionList(app: app, category: category)
  }
}

extension SuppressionList {
  /// The list's name in messages: `news`, or `news, category marketing`.
  var title: String { app + (category.map { ", category \($0)" } ?? "") }
}
