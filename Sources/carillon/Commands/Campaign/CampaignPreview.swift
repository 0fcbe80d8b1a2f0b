import ArgumentParser
import CampaignStore
import CommandSupport
import Foundation
import PushCore

extension CampaignCommand {
  /// `carillon campaign preview`.
  struct Preview: CarillonCommand {
    static let configuration = CommandConfiguration(
      abstract: "Prints what a campaign sends, or would send, to each device of a user.",
      discussion: """
        Headers and body are those of the worker, byte for byte; nothing is sent or changed. Whether the user is in the \
        audience is not looked at, which of the user's devices are meant is. Of a campaign that knows its targets already it is \
        what was fixed for them. Exits 1 when there is no device for it.

        Examples:
          carillon campaign preview job.json --user ada
          carillon campaign preview spring-sale-2026 --user ada --json | jq '.pushes[].payload'
        """)

    @OptionGroup var global: GlobalOptions
    @Argument(
      help: "A campaign's id, or a file with a job; - is standard input.", completion: .file(extensions: ["json"]))
    var campaign: String
    @Option(help: "The user's id.") var user: String

    func run() async throws {
      let configuration = try global.loadConfiguration()
      let store = try await global.openStore()
      let preview = try await read(store, configuration)
      guard
        let channel = try AppChannels.make(configuration.apps.filter { $0.key == preview.campaign.app })[
          preview.campaign.app]
      else { throw CommandError(.defect, "no channel for app \(preview.campaign.app)") }
      let report = PreviewReport(preview, channel: channel)
      try StandardOutput.printLine(global.json ? report.json : report.text)
      if preview.pushes.isEmpty, !preview.waits || !preview.hasDevices {
        throw ExitCode(CommandError.Code.failed.exitStatus)
      }
    }

    /// A file if there is one of that name, or else a campaign.
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
