import ArgumentParser
import CampaignStore
import CommandSupport
import PushCore

/// `carillon template`.
struct TemplateCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "template",
    abstract: "Keeps what many jobs say, in versions: a job names it as \"template\": \"NAME@3\".",
    discussion: """
      A template is JSON with payload, and localized, trim and uniqueKey if it has them, as in a job; a job has its name in \
      the place of these. A version never changes. NAME alone is the newest when a worker takes the job in, and stays that one.

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
