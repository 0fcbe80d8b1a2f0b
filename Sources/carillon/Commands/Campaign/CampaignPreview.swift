import ArgumentParser
import CampaignStore
import CommandSupport
import Foundation
import PushCore

extension CampaignCommand {
  /// The command `carillon campaign preview`.
  struct Preview: AuditedCommand {
    static let configuration = CommandConfiguration(
      commandName: "preview", abstract: "Print the push of a campaign for each device of a user.",
      discussion: """
        Headers and body are the same bytes that the worker sends. The command sends no push and changes no data. It \
        does not check whether the user is in the audience. It prints only devices that match the job. If workers have \
        already stored the content for the user, the command prints the stored content. It exits with 1 if no device \
        matches.

        Examples:
          carillon campaign preview job.json --user ada
          carillon campaign preview spring-sale-2026 --user ada --json | jq '.pushes[].payload'
        """)

    static let effect = Effect.reads

    @OptionGroup var global: GlobalOptions
    @Argument(
      help: "A campaign's id or a file with a job; - is standard input.", completion: .file(extensions: ["json"]))
    var campaign: String
    @Option(help: "The user's id.") var user: String

    func run() async throws {
      let configuration = try global.loadConfiguration()
      let store = try await global.openStore()
      let preview = try await read(store, configuration)
      guard
        let app = try AppChannels.make(configuration.apps.filter { $0.key == preview.campaign.app })[
          preview.campaign.app]
      else { throw CommandError(.defect, "app \(preview.campaign.app) has no push channel") }
      let report = PreviewReport(preview, app: app)
      try StandardOutput.printLine(global.json ? report.json : report.text)
      if preview.pushes.isEmpty, !preview.waits || !preview.hasDevices {
        throw ExitCode(CommandError.Code.failed.exitStatus)
      }
    }

    /// Reads the argument as a file if a file has this name, and otherwise as a campaign's id.
    private func read(
      _ store: CampaignStore, _ configuration: CarillonConfiguration
    ) async throws -> PushPreview {
      let (apps, user) = (configuration.jobApps(), try UserArgument.read(user))
      guard campaign == "-" || FileManager.default.fileExists(atPath: campaign) else {
        return try await PushPreview(id: campaign, user: user, in: store, configuration, apps)
      }
      let job = try InputFile.contents(campaign, limit: CampaignJob.maximumSize)
      return try await PushPreview(job: job, user: user, in: store, configuration, apps)
    }
  }
}
