import ArgumentParser
import CampaignStore
import CommandSupport
import PushCore

extension TemplateCommand {
  /// `carillon template remove`.
  struct Remove: CarillonCommand {
    static let configuration = CommandConfiguration(
      abstract: "Remove a template with all its versions. Existing campaigns keep their content.")

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
}
