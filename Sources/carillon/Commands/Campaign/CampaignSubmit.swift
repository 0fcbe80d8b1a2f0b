import APNs
import ArgumentParser
import CampaignStore
import CommandSupport
import Foundation
import PushCore

extension CampaignCommand {
  /// `carillon campaign submit`.
  struct Submit: CarillonCommand {
    static let configuration = CommandConfiguration(
      abstract: "Checks a job and puts it into the queue; prints its id.",
      discussion: """
        What `carillon lint` warns of is said, on standard error or as warnings with --json, and submitted all the same. \
        The same job again changes nothing. Another job under a used id is a conflict (exit 65). With --replicas the job \
        is enqueued all the same when fewer confirm it (exit 69); submitting it again waits for them again. With --estimate \
        nothing is submitted: the job is checked, and it is counted whom it would reach if it began now.

        Examples:
          carillon campaign submit job.json
          carillon campaign submit job.json --estimate
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

    @Flag(help: "Only count whom it would reach.") var estimate = false

    /// How long replicas may take: one that follows is behind by milliseconds.
    private static let replicaTimeout = Duration.seconds(5)

    func validate() throws {
      if let replicas, replicas < 1 { throw ValidationError("--replicas must be 1 or more.") }
      if estimate, replicas != nil {
        throw ValidationError("--estimate submits nothing that --replicas could wait for.")
      }
    }

    func run() async throws {
      let configuration = try global.loadConfiguration()
      let job = try InputFile.contents(file, limit: Self.readLimit)
      let apps = configuration.jobApps()
      try refusePayload(job)
      let resolved = try await resolve(job, configuration)
      let campaign = try CampaignJob.parse(resolved, apps)
      // What only the time makes wrong keeps nobody from submitting the same job again.
      let warnings = try CampaignJob.examine(resolved, apps, now: Int(Date.now.timeIntervalSince1970)).findings
      if estimate { return try await count(campaign, configuration, warnings) }
      let store = try await StoreConnection(configuration.redis).open(creating: true)
      let admission = try await store.submit(job, as: campaign)
      if admission == .conflict { throw CommandError.conflict(campaign.id) }
      if let replicas { try await awaitReplicas(replicas, of: campaign.id, store) }
      if global.json {
        var json = JSONWriter()
        json.beginObject()
        json.member("id", campaign.id)
        json.member("duplicate", admission == .duplicate)
        json.name("warnings")
        FindingText.write(warnings, to: &json)
        json.endObject()
        try StandardOutput.printLine(json.text)
      } else {
        say(warnings)
        if admission == .duplicate { StandardError.write("the same job was submitted before: nothing changes\n") }
        try StandardOutput.printLine(campaign.id)
      }
    }

    /// The job with its template's content; the store is asked only where the job names one.
    private func resolve(_ job: [UInt8], _ configuration: CarillonConfiguration) async throws -> [UInt8] {
      guard try CampaignJob.template(of: job) != nil else { return job }
      return try await StoreConnection(configuration.redis).open(creating: false).resolve(job)
    }

    private func say(_ warnings: [Finding]) {
      for warning in warnings { StandardError.write(Excerpt.harmless(FindingText.line(warning)) + "\n") }
    }

    /// Prints whom a campaign would reach.
    private func count(
      _ campaign: Campaign, _ configuration: CarillonConfiguration, _ warnings: [Finding]
    ) async throws {
      let store = try await global.openStore()
      let filter = try await store.filter(of: campaign, configuration)
      let reached = try await store.count(campaign, filter: filter)
      let bytes = CampaignSize.bytes(of: reached.targets, campaign, partitions: store.keys.partitions)
      guard global.json else {
        say(warnings)
        let users = reached.users.map { "\($0.grouped) \($0 == 1 ? "user" : "users"), " } ?? ""
        let pushes = "\(reached.targets.grouped) \(reached.targets == 1 ? "push" : "pushes")"
        return try StandardOutput.printLine(
          "\(users)\(pushes), some \((bytes + (1 << 20) - 1) >> 20) MiB of Redis' memory")
      }
      var json = JSONWriter()
      json.beginObject()
      json.member("id", campaign.id)
      json.member("users", reached.users)
      json.member("targets", reached.targets)
      json.member("bytes", bytes)
      json.name("warnings")
      FindingText.write(warnings, to: &json)
      json.endObject()
      try StandardOutput.printLine(json.text)
    }

    /// A payload alone is no job: that its members are unknown would be no help.
    private func refusePayload(_ file: [UInt8]) throws {
      guard file.count <= CampaignJob.maximumSize,
        let root = try? JSONValue(parsing: file, maximumDepth: CampaignJob.maximumNesting),
        PushLint.isPayload(root)
      else { return }
      throw CommandError(
        .input, "this is a payload, not a job",
        hint: "a job has it as its payload, beside id, app and audience; carillon send sends it to one device")
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
