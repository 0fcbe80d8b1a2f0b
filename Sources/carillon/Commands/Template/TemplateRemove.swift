import ArgumentParser
import CampaignStore
import CommandSupport
import PushCore

extension TemplateCommand {
  /// The command `carillon template remove`.
  struct Remove: AuditedCommand {
    static let configuration = CommandConfiguration(
      commandName: "remove", abstract: "Remove a template with all its versions. Existing campaigns keep their content."
    )

    static let effect = Effect.changes([.templateRemove])

    @OptionGroup var global: GlobalOptions
    @Argument(help: "The template's name.") var name: String

    func run() async throws {
      let store = try await global.openStore()
      guard try await store.campaigns.removeTemplate(name) else {
        throw CommandError(.failed, "there is no template \(Excerpt.quoted(name))", hint: "see carillon template list")
      }
      await AuditTrail(store).record(.commandLine, .templateRemove, name)
      guard global.json else { return try StandardOutput.printLine("\(name) removed") }
      try StandardOutput.printLine(TemplateCommand.json { $0.member("name", name) })
    }
  }
}
