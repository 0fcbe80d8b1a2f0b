import ArgumentParser
import CampaignStore
import CommandSupport
import PushCore

extension CampaignCommand {
  /// `carillon campaign submit`.
  struct Submit: CarillonCommand {
    static let configuration = CommandConfiguration(
      abstract: "Checks a job and puts it into the queue; prints its id.",
      discussion: """
        The same job again changes nothing. Another job under a used id is a conflict (exit 65). With --replicas the job \
        is enqueued all the same when fewer confirm it (exit 69); submitting it again waits for them again.

        Examples:
          carillon campaign submit job.json
          echo '{"id":"hello-1","app":"news","audience":{"segment":"vip & !churned"},
                 "payload":{"aps":{"alert":"Hello"}}}' | carillon campaign submit -
        """)

    /// What is read at most: beyond the largest job, so that the error can say by how much it is too large.
    private static let readLimit = 64 * CampaignJob.maximumSize

    @OptionGroup var global: GlobalOptions
    @Argument(help: "The job, JSON; - is standard input.", completion: .file(extensions: ["json"]))
    var file: String
    @Option(help: ArgumentHelp("Wait until so many replicas of Redis have the job.", valueName: "number"))
    var replicas: Int?

    /// How long replicas may take: one that follows is behind by milliseconds.
    private static let replicaTimeout = Duration.seconds(5)

    func validate() throws {
      if let replicas, replicas < 1 { throw ValidationError("--replicas must be 1 or more.") }
    }

    func run() async throws {
      let configuration = try global.loadConfiguration()
      let job = try InputFile.contents(file, limit: Self.readLimit)
      let campaign = try CampaignJob.parse(job, configuration.jobApps())
      let store = try await StoreConnection(configuration.redis).open(creating: true)
      let admission = try await store.submit(job, as: campaign)
      if admission == .conflict { throw CommandError.conflict(campaign.id) }
      if let replicas { try await awaitReplicas(replicas, of: campaign.id, store) }
      if global.json {
        var json = JSONWriter()
        json.beginObject()
        json.member("id", campaign.id)
        json.member("duplicate", admission == .duplicate)
        json.endObject()
        try StandardOutput.printLine(json.text)
      } else {
        if admission == .duplicate { StandardError.write("the same job was submitted before: nothing changes\n") }
        try StandardOutput.printLine(campaign.id)
      }
    }

    private func awaitReplicas(_ wanted: Int, of id: String, _ store: CampaignStore) async throws {
      let confirmed = try await store.awaitReplicas(wanted, of: id, timeout: Self.replicaTimeout)
      guard confirmed < wanted else { return }
      throw CommandError(
        .unreachable,
        "\(confirmed) of \(wanted) replicas have confirmed the job \(Excerpt.quoted(id)) within "
          + "\(Self.replicaTimeout.components.seconds) s; it is enqueued",
        hint:
          "submitting it again is harmless, and waits for them again; `INFO replication` of Redis names its replicas")
    }
  }
}
