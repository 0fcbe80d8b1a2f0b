import ArgumentParser
import CampaignStore
import CommandSupport
import Foundation
import PushCore

extension CampaignCommand {
  /// The command `carillon campaign submit`.
  struct Submit: AuditedCommand {
    static let configuration = CommandConfiguration(
      commandName: "submit", abstract: "Submit a job. Prints the campaign id.",
      discussion: """
        The command prints the warnings of `carillon lint` to standard error, or as a part of the result with --json. \
        Warnings do not prevent the submission. If you submit the same job again, nothing changes. A different job \
        with an id that is in use is refused (exit 65). With --replicas, the command exits with 69 if too few replicas \
        confirm the job. The job is in the queue even then. To wait for the replicas again, submit the same job again. \
        With --estimate, the command submits nothing. It checks the job and counts the users and devices that the job \
        would reach now.

        Examples:
          carillon campaign submit job.json
          carillon campaign submit job.json --estimate
          echo '{"id":"hello-1","app":"news","audience":{"segment":"vip & !churned"},
                 "message":{"body":"Hello"}}' | carillon campaign submit -
        """)

    /// Maximum number of bytes to read. It is larger than the size limit of a job, so that the error for a job that is
    /// too large can contain its size.
    private static let readLimit = 64 * CampaignJob.maximumSize

    static let effect = Effect.changes([.campaignSubmit])

    @OptionGroup var global: GlobalOptions
    @Argument(help: "The job in JSON; - is standard input.", completion: .file(extensions: ["json"]))
    var file: String
    @Option(help: ArgumentHelp("Wait until this number of Redis replicas have stored the job.", valueName: "number"))
    var replicas: Int?

    @Option(help: "The submitter. If approval is required, another person must approve.") var by: String?
    @Flag(help: "Only count the users and devices that the job would reach.") var estimate = false

    /// Maximum time to wait until the replicas of Redis have the job. A working replica is only milliseconds behind its
    /// primary.
    private static let replicaTimeout = Duration.seconds(5)

    func validate() throws {
      if let by { try OperatorOptions.check(by) }
      if let replicas, replicas < 1 { throw ValidationError("--replicas must be 1 or more.") }
      if estimate, replicas != nil {
        throw ValidationError("--replicas has no effect with --estimate, which submits nothing. Omit one of them.")
      }
    }

    func run() async throws {
      let configuration = try global.loadConfiguration()
      var job = try InputFile.contents(file, limit: Self.readLimit)
      if let by { job = try CampaignJob.submitted(job, by: by) }
      var submission = try await JobSubmission(
        job, resolved: await resolve(job, configuration), configuration.jobApps())
      if estimate { return try await count(submission, configuration) }
      let store = try await StoreConnection(
        configuration.redis, zoneinfo: configuration.worker.zoneinfo, apps: configuration.appServices
      ).open(
        creating: true)
      try await submission.addWarnings(from: store)
      let isDuplicate = try await submission.submit(to: store, by: submission.campaign.submittedBy)
      if !isDuplicate { await AuditTrail(store).record(submitted: submission.campaign, by: .commandLine) }
      if let replicas { try await awaitReplicas(replicas, of: submission.campaign.id, store) }
      let more = isDuplicate ? [] : await submission.warningsOfReach(store, configuration)
      if global.json { return try StandardOutput.printLine(submission.json(isDuplicate: isDuplicate, more: more)) }
      printWarnings(submission.warnings + more)
      if isDuplicate { StandardError.write("the same job was submitted before: nothing changes\n") }
      try StandardOutput.printLine(submission.campaign.id)
    }

    /// Returns the job with the content of its templates. It reads the store only if the job names a template.
    private func resolve(_ job: [UInt8], _ configuration: CarillonConfiguration) async throws -> [UInt8] {
      guard try !CampaignJob.templates(of: job).isEmpty else { return job }
      return try await StoreConnection(configuration.redis).open(creating: false).campaigns.resolve(job)
    }

    private func printWarnings(_ warnings: [Finding]) {
      for warning in warnings { StandardError.write(Excerpt.harmless(FindingText.line(warning)) + "\n") }
    }

    /// Prints how many users and devices a campaign would reach.
    private func count(_ submission: JobSubmission, _ configuration: CarillonConfiguration) async throws {
      var submission = submission
      let store = try await global.openStore()
      let (reached, bytes) = try await submission.count(store, configuration)
      try await submission.addWarnings(from: store)
      if global.json { return try StandardOutput.printLine(submission.json(reached, bytes: bytes)) }
      printWarnings(submission.warnings)
      let control = reached.control > 0 ? ", \(reached.control.grouped) in a control group" : ""
      try StandardOutput.printLine(
        "\(reached.text)\(control), about \((bytes + (1 << 20) - 1) >> 20) MiB of Redis' memory")
    }

    private func awaitReplicas(_ wanted: Int, of id: String, _ store: CampaignStore) async throws {
      let confirmed = try await store.queue.awaitReplicas(wanted, of: id, timeout: Self.replicaTimeout)
      guard confirmed < wanted else { return }
      throw CommandError(
        .unreachable,
        "\(confirmed) of \(wanted) replicas have confirmed the job \(Excerpt.quoted(id)) within "
          + "\(Self.replicaTimeout.components.seconds) s; the job is in the queue",
        hint:
          "submitting it again is harmless, and repeats the wait; `INFO replication` of Redis lists its replicas")
    }
  }
}
