import CommandSupport
import PushCore
import PushWorker
import ServiceTools

/// A push that a user sends by hand: a payload for one token. The rules for jobs apply.
struct SinglePushDraft {
  /// Id of a job that has this push as its only push. The job is never submitted: it exists because the rules check
  /// jobs.
  var name: String
  var app: String
  var token: DeviceToken
  /// The payload as a JSON object.
  var payload: [UInt8]
  var pushType: String
  var priority: Int?
  /// The expiration, as text in the format of the job field `expiration`.
  var expiration: String?
  var collapseID: String?

  /// Checks the push.
  ///
  /// - Parameters:
  ///   - service: the service of the app.
  ///   - now: UNIX seconds.
  /// - Returns: the push as a campaign, and the rules that it breaks.
  /// - Throws: an error for a field that is invalid on its own.
  func examine(by service: any PushService, now: Int) throws -> (campaign: Campaign, findings: [Finding]) {
    try CampaignJob.examine(job(service), .known([app: [service]]), now: now)
  }

  /// Creates the push.
  ///
  /// - Parameters:
  ///   - campaign: the campaign that ``examine(by:now:)`` returned.
  ///   - service: the service of the app.
  ///   - channel: the channel to the service.
  ///   - id: a UUID for the push, if pushes of the service have one.
  func push(
    _ campaign: Campaign, by service: any PushService, of tools: any PushServiceTools, through channel: ServiceChannel,
    now: Int, id: String
  ) throws -> SinglePush {
    let composer = tools.composer(
      byHand: campaign, of: service, expiration: campaign.message.expiration.instant(startingAt: now))
    guard let push = PreparedPush(to: token, by: composer, of: service, id: id, now: now) else {
      throw CommandError(.input, "payload: larger than \(service.title) accepts", hint: "shorten it")
    }
    return SinglePush(tools: tools, channel: channel, prepared: push)
  }

  private func job(_ service: any PushService) -> [UInt8] {
    var job = JSONWriter()
    job.beginObject()
    job.member("id", name)
    job.member("app", app)
    job.name("audience")
    job.beginObject()
    job.name("tokens")
    job.beginArray()
    job.value(service.text(of: token))
    job.endArray()
    job.endObject()
    let hasPriority = service.jobFields.contains { $0.name == "priority" }
    job.object(service.name) { job in
      job.name(service.payloadField)
      job.raw(payload)
      if service.jobFields.contains(where: { $0.name == "pushType" }) { job.member("pushType", pushType) }
      if let priority, hasPriority { job.member("priority", priority) }
    }
    if let priority, !hasPriority { job.member("urgency", (priority > 5 ? Urgency.high : .normal).rawValue) }
    if let expiration { job.member("expiration", expiration) }
    if let collapseID { job.member("collapseId", collapseID) }
    job.endObject()
    return job.bytes
  }
}
