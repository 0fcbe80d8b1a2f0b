import CampaignStore
import CommandSupport
import Foundation
import PushCore
import ServiceTools

/// A job to submit, with the results of all checks that do not need a store.
struct JobSubmission {
  let job: [UInt8]
  let campaign: Campaign
  /// The campaign of each leg.
  private let legs: [Campaign]
  /// The campaigns of the job's `also`.
  private let companions: [Campaign]
  /// Warnings of the rules.
  private(set) var warnings: [Finding]
  /// Error that depends on the current time. The error does not apply to a job that was submitted before.
  private let untimely: JobError?

  /// - Parameters:
  ///   - job: the job as received.
  ///   - resolved: the job with the content of its template (``Campaigns/resolve(_:)``).
  /// - Throws: the first error of the job; `CancellationError` if the task is cancelled, after a step of at most a
  ///   fraction of a second.
  init(_ job: [UInt8], resolved: @autoclosure () async throws -> [UInt8], _ apps: JobApps) async throws {
    try Self.refusePayload(job)
    self.job = job
    let resolved = try await resolved()
    try Task.checkCancellation()
    let checked = try CampaignJob.check(resolved, apps, now: Int(Date.now.timeIntervalSince1970))
    (campaign, warnings, untimely) = (checked.campaign, checked.warnings, checked.untimely)
    try Task.checkCancellation()
    legs = try CampaignJob.legs(of: checked.campaign, resolved, apps)
    companions = try CampaignJob.companions(of: checked.campaign, resolved, apps)
  }

  /// Adds the warnings that need the store.
  mutating func addWarnings(from store: CampaignStore) async throws {
    warnings += try await AttributeWarnings(store: store).find(in: campaign)
  }

  /// Puts the job into the queue.
  ///
  /// - Parameter person: the submitter; `nil` if unknown.
  /// - Returns: whether the same job was submitted before.
  func submit(to store: CampaignStore, by person: String?) async throws -> Bool {
    switch try await store.queue.submit(job, as: campaign, by: person, untimely: untimely) {
    case .new: return false
    case .duplicate: return true
    case .conflict: throw CommandError.conflict(campaign.id)
    }
  }

  /// The rule that at least one user of the audience gets a push.
  private static let reachesNoUser = PushRule(
    id: "audience-reaches-no-user", severity: .warning, summary: "the audience has a user who gets a push",
    source: "Carillon: deploy/guide/results.md, “Why a user gets no push”")

  /// Returns a warning if a sample of the audience has no user who would get a push. The job is already submitted, so a
  /// sample that can't be read is not an error: the function then returns no warning. For example, the Redis user may
  /// lack the permissions of the role `reader`, or Redis is older than version 7 and can't report permissions.
  func warningsOfReach(_ store: CampaignStore, _ configuration: CarillonConfiguration) async -> [Finding] {
    // Producers are not allowed to read devices. Without this check, Redis would list each refused command in ACL LOG.
    guard (try? await store.fleet.missingRights(of: .reader))?.isEmpty == true,
      let start = try? await store.time() / 1000, let filter = try? configuration.filter(of: legs, start: start),
      let sample = try? await store.audiences.sampleReach(of: campaign, filter: filter), sample.users.users == 0
    else { return [] }
    var message = "the audience has no user now"
    if sample.users.left > 0 {
      let looked = sample.isComplete ? "the audience has" : "a sample of the audience has"
      message = "\(looked) no user who gets a push now: \(sample.users.text)"
    }
    if sample.events > 0 { message += "; \(sample.events) registration events are queued and may change that" }
    return [
      Finding(
        Self.reachesNoUser, "audience", message,
        hint:
          "register or import devices before the campaign begins; carillon campaign submit --estimate counts all users")
    ]
  }

  /// Returns the result of `submit` as JSON.
  ///
  /// - Parameter more: warnings in addition to those of the rules.
  func json(isDuplicate: Bool, more: [Finding] = []) -> String {
    var json = JSONWriter()
    json.beginObject()
    json.member("id", campaign.id)
    json.member("duplicate", isDuplicate)
    json.name("warnings")
    FindingText.write(warnings + more, to: &json)
    json.endObject()
    return json.text
  }

  /// Returns the result of `submit --estimate` as JSON.
  func json(_ reached: Reached, bytes: Int) -> String {
    var json = JSONWriter()
    json.beginObject()
    json.member("id", campaign.id)
    json.member("users", reached.users)
    json.member("targets", reached.targets)
    if reached.control > 0 { json.member("control", reached.control) }
    json.member("bytes", bytes)
    json.name("warnings")
    FindingText.write(warnings, to: &json)
    json.endObject()
    return json.text
  }

  /// Returns the users and devices that the campaign would reach if it began now, and the size of the campaign in Redis
  /// in bytes.
  ///
  /// - Throws: the same errors as ``submit(to:by:)`` for a new job.
  func count(_ store: CampaignStore, _ configuration: CarillonConfiguration) async throws -> (Reached, bytes: Int) {
    if let untimely { throw untimely }
    let start = try await store.time() / 1000
    let all = [(campaign: campaign, filter: try configuration.filter(of: legs, start: start))]
    let reached = try await store.audiences.count(
      all + companions.map { (campaign: $0, filter: try configuration.filter(of: [$0], start: start)) })
    return (reached, CampaignSize.bytes(of: reached.targets, campaign, partitions: store.keys.partitions))
  }

  /// Refuses a single payload with a clear error. Otherwise, the error would only report unknown members of a job.
  private static func refusePayload(_ file: [UInt8]) throws {
    guard file.count <= CampaignJob.maximumSize,
      let root = try? JSONValue(parsing: file, maximumDepth: CampaignJob.maximumNesting),
      let service = KnownServices.all.tools.first(where: { $0.isPayload(root) })?.service
    else { return }
    throw CommandError(
      .input, "this is a payload, not a job",
      hint: "a job has id, app and audience, and the payload as "
        + "{\"\(service.name)\":{\"\(service.payloadField)\":…}}; carillon send sends a payload to one device")
  }
}
