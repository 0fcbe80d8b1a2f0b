import ArgumentParser
import CampaignStore
import CommandSupport
import PushCore

/// The command `carillon template`.
struct TemplateCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "template",
    abstract: "Manage versioned templates. A job refers to one with \"template\": \"NAME@3\".",
    discussion: """
      A template is a JSON object with the job field message or the object of a push service, and optionally \
      localized, trim and uniqueKey. A job contains the template's name instead of these fields. A version never \
      changes. NAME without a version is the newest version at the time when a worker takes the job from the queue.

      Examples:
        carillon template put welcome welcome.json
        carillon template show welcome@2
      """,
    subcommands: [Put.self, Show.self, List.self, Remove.self])

  static func json(_ members: (inout JSONWriter) -> Void) -> String {
    JSONWriter.object { json in
      members(&json)
    }
  }

  static func write(_ name: String, _ version: Int, to json: inout JSONWriter) {
    json.member("name", name)
    json.member("version", version)
  }
}
