import ArgumentParser
import CampaignStore
import CommandSupport
import PushCore
import ServiceTools

extension TemplateCommand {
  /// The command `carillon template put`.
  struct Put: AuditedCommand {
    static let configuration = CommandConfiguration(
      commandName: "put",
      abstract:
        "Store a new version of a template and print NAME@VERSION. Storing the same content again changes nothing.")

    static let effect = Effect.changes([.templatePut])

    @OptionGroup var global: GlobalOptions
    @Argument(help: "The template's name.") var name: String
    @Argument(help: "A JSON file with the template; - is standard input.", completion: .file(extensions: ["json"]))
    var file: String

    func run() async throws {
      guard PlainName.isValid(name) else {
        throw CommandError(
          .input, "\(Excerpt.quoted(name)) is not a valid template name", hint: "it must be \(PlainName.form)")
      }
      let content = try JobTemplate.content(
        InputFile.contents(file, limit: 2 * JobTemplate.maximumSize), for: KnownServices.all.tools.map(\.service))
      let store = try await StoreConnection(global.loadConfiguration().redis).open(creating: true)
      let version = try await store.campaigns.put(content, asTemplate: name)
      await AuditTrail(store).record(.commandLine, .templatePut, "\(name)@\(version)")
      guard global.json else { return try StandardOutput.printLine("\(name)@\(version)") }
      try StandardOutput.printLine(TemplateCommand.json { TemplateCommand.write(name, version, to: &$0) })
    }
  }
}
