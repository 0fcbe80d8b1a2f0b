import ArgumentParser
import CampaignStore
import CommandSupport
import PushCore

extension TemplateCommand {
  /// The command `carillon template list`.
  struct List: AuditedCommand {
    static let configuration = CommandConfiguration(
      commandName: "list", abstract: "List templates with their newest versions.")

    static let effect = Effect.reads

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
}
