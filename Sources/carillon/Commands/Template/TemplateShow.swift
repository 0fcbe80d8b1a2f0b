import ArgumentParser
import CampaignStore
import CommandSupport
import PushCore

extension TemplateCommand {
  /// The command `carillon template show`.
  struct Show: AuditedCommand {
    static let configuration = CommandConfiguration(commandName: "show", abstract: "Print a template as JSON.")

    static let effect = Effect.reads

    @OptionGroup var global: GlobalOptions
    @Argument(help: "NAME for the newest version, or NAME@VERSION.") var template: String

    func run() async throws {
      guard let reference = TemplateReference(template) else {
        throw CommandError(
          .input, "\(Excerpt.quoted(template)) is not a valid template reference",
          hint: "it must be \(TemplateReference.form)")
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
}
