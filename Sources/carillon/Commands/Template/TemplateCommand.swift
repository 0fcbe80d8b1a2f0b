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

  /// `carillon template put`.
  struct Put: CarillonCommand {
    static let configuration = CommandConfiguration(
      abstract: "Keeps another version of a template; prints NAME@VERSION. The same again changes nothing.")

    @OptionGroup var global: GlobalOptions
    @Argument(help: "The template's name.") var name: String
    @Argument(help: "The template, JSON; - is standard input.", completion: .file(extensions: ["json"]))
    var file: String

    func run() async throws {
      guard PlainName.isValid(name) else {
        throw CommandError(
          .input, "\(Excerpt.quoted(name)) can't name a template", hint: "it must be \(PlainName.form)")
      }
      let content = try JobTemplate.content(InputFile.contents(file, limit: 2 * JobTemplate.maximumSize))
      let store = try await StoreConnection(global.loadConfiguration().redis).open(creating: true)
      let version = try await store.campaigns.put(content, asTemplate: name)
      guard global.json else { return try StandardOutput.printLine("\(name)@\(version)") }
      try StandardOutput.printLine(TemplateCommand.json { TemplateCommand.write(name, version, to: &$0) })
    }
  }

  /// `carillon template show`.
  struct Show: CarillonCommand {
    static let configuration = CommandConfiguration(abstract: "Prints a template, as JSON.")

    @OptionGroup var global: GlobalOptions
    @Argument(help: "NAME for the newest version, or NAME@VERSION.") var template: String

    func run() async throws {
      guard let reference = TemplateReference(template) else {
        throw CommandError(
          .input, "\(Excerpt.quoted(template)) names no template", hint: "it must be \(TemplateReference.form)")
      }
      guard let known = try await global.openStore().campaigns.template(reference) else {
        throw CommandError(.failed, "there is no template \(reference)", hint: "see carillon template list")
      }
      guard global.json else { return try StandardOutput.printLine(String(decoding: known.content, as: UTF8.self)) }
      try StandardOutput.printLine(
        TemplateCommand.json {
          TemplateCommand.write(known.name, known.version, to: &$0)
          $0.name("content")
          $0.raw(known.content)
        })
    }
  }

  /// `carillon template list`.
  struct List: CarillonCommand {
    static let configuration = CommandConfiguration(abstract: "Lists the templates with their newest versions.")

    @OptionGroup var global: GlobalOptions

    func run() async throws {
      let templates = try await global.openStore().campaigns.templates()
      guard global.json else {
        let rows = templates.map { [$0.name, String($0.version)] }
        return try StandardOutput.printLine(TextTable([["template", "version"]] + rows).text)
      }
      var json = JSONWriter()
      json.beginArray()
      for template in templates {
        json.beginObject()
        TemplateCommand.write(template.name, template.version, to: &json)
        json.endObject()
      }
      json.endArray()
      try StandardOutput.printLine(json.text)
    }
  }

  /// `carillon template remove`.
  struct Remove: CarillonCommand {
    static let configuration = CommandConfiguration(
      abstract: "Removes a template with all its versions; campaigns that were taken in keep theirs.")

    @OptionGroup var global: GlobalOptions
    @Argument(help: "The template's name.") var name: String

    func run() async throws {
      guard try await global.openStore().campaigns.removeTemplate(name) else {
        throw CommandError(.failed, "there is no template \(Excerpt.quoted(name))", hint: "see carillon template list")
      }
      guard global.json else { return try StandardOutput.printLine("\(name) removed") }
      try StandardOutput.printLine(TemplateCommand.json { $0.member("name", name) })
    }
  }

  private static func json(_ members: (inout JSONWriter) -> Void) -> String {
    var json = JSONWriter()
    json.beginObject()
    members(&json)
    json.endObject()
    return json.text
  }

  private static func write(_ name: String, _ version: Int, to json: inout JSONWriter) {
    json.member("name", name)
    json.member("version", version)
  }
}
