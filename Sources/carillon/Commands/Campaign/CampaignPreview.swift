import APNs
import ArgumentParser
import CampaignStore
import CommandSupport
import Foundation
import PushCore
import PushTransport

extension CampaignCommand {
  /// `carillon campaign preview`.
  struct Preview: CarillonCommand {
    static let configuration = CommandConfiguration(
      abstract: "Prints what a campaign sends, or would send, to each device of a user.",
      discussion: """
        Headers and body are those of the worker, byte for byte; nothing is sent or changed. Whether the user is in the \
        audience is not looked at, which of the user's devices are meant is. Of a campaign that knows its targets already it is \
        what was fixed for them. Of variants it is the user's; what somebody gets who waits for the best is known once that is \
        said. Exits 1 when there is no device for it.

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
      let (asked, record) = try await read(store, configuration)
      var campaign = asked
      // Of a job that is yet to be submitted both parts are looked at: who is not in the first is in the rest.
      if record == nil { campaign.canary = nil }
      let filter = try await store.filter(of: campaign, configuration)
      let known = try await store.targets(of: user, in: campaign, filter: filter, isNew: record == nil)
      let winner = record == nil || campaign.variants == nil ? nil : try await store.decision(of: campaign.id)?.winner
      let place = campaign.variants.map { variants in Array(user.utf8).withUnsafeBytes(variants.place) }
      let name = place.flatMap { campaign.variants?.name(of: $0, winner: winner) }
      let waits = place != nil && name == nil
      let preview = try PreviewReport(
        campaign: campaign, user: user, isFixed: known.isSealed, variant: name, waits: waits,
        pushes: waits ? [] : pushes(known, of: campaign, record, winner: winner, configuration))
      try StandardOutput.printLine(global.json ? preview.json : preview.text)
      if preview.pushes.isEmpty, !waits || known.positions.isEmpty {
        throw ExitCode(CommandError.Code.failed.exitStatus)
      }
    }

    /// A file if there is one of that name, or else a campaign.
    private func read(
      _ store: CampaignStore, _ configuration: CarillonConfiguration
    ) async throws -> (Campaign, CampaignRecord?) {
      if campaign == "-" || FileManager.default.fileExists(atPath: campaign) {
        let job = try InputFile.contents(campaign, limit: CampaignJob.maximumSize)
        let now = Int(Date.now.timeIntervalSince1970)
        return (try await CampaignJob.parse(store.resolve(job), configuration.jobApps(), now: now), nil)
      }
      guard let (record, job) = try await store.campaignAndJob(campaign) else { throw try await store.absent(campaign) }
      return (try CampaignJob.parse(job, configuration.jobApps()), record)
    }

    private func pushes(
      _ known: UserTargets, of campaign: Campaign, _ record: CampaignRecord?, winner: Int?,
      _ configuration: CarillonConfiguration
    ) throws -> [PreviewReport.Push] {
      guard let service = configuration.pushServices()[campaign.app],
        let channel = try AppChannels.make(configuration.apps.filter { $0.key == campaign.app })[campaign.app]
      else { throw CommandError(.defect, "no channel for app \(campaign.app)") }
      let expiration =
        record.map(\.expiration) ?? campaign.expiration.instant(startingAt: Int(Date.now.timeIntervalSince1970))
      let composer = service.composer(for: campaign, expiration: expiration)
      return known.positions.compactMap { position in
        guard let token = DeviceToken(bytes: known.chunk.token(position)) else { return nil }
        var batch = composer.batch(isUnproven: false, capacity: 1)
        var values = known.chunk.values(position)
        values.winner = winner
        guard batch.append(known.chunk.token(position), values, tag: 0, by: composer),
          let push = batch.pushes.first
        else { return PreviewReport.Push(token: token, push: nil) }
        return PreviewReport.Push(
          token: token,
          push: SinglePush(
            channel: channel, headers: service.headers(of: campaign, expiration: expiration), token: token,
            payload: Array(batch.bytes[Int(push.payload.lowerBound)..<Int(push.payload.upperBound)]),
            id: UUID(uuidString: UUIDText.text(push.id)) ?? UUID()))
      }
    }
  }
}
