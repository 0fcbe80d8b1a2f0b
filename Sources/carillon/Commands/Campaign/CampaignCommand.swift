import ArgumentParser

/// The command `carillon campaign`.
struct CampaignCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "campaign",
    abstract: "Submit, show and control campaigns.",
    subcommands: [
      Submit.self, Preview.self, Vars.self, Show.self, List.self, Watch.self, Pause.self, Resume.self, Cancel.self,
      Approve.self, Decide.self, Manifest.self,
    ])
}
