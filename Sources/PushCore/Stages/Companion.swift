/// Companion of a campaign: an additional push of another push type to the same users. A companion shows nothing on its
/// own and tells the app to refresh its content, such as a widget. A companion goes to the tokens of its own push type.
///
/// A companion is a part of its campaign (``CampaignPart``). It has the same users, stages and times, but not the
/// campaign's content, rate and frequency caps.
enum Companion {
  /// Returns the job of a companion: the fields of the main job that also apply to the companion, and the push type and
  /// payload of the companion.
  ///
  /// - Parameters:
  ///   - job: a valid job.
  ///   - pushType: a push type in `also` of the job.
  ///   - payload: the payload to send.
  ///   - service: the push service of the app.
  /// - Throws: an error if the job is not valid JSON.
  static func job(
    of job: [UInt8], _ pushType: String, payload: [UInt8], for service: any PushService
  ) throws(JSONSyntaxError) -> [UInt8] {
    let root = try JSONValue(parsing: job, maximumDepth: CampaignJob.maximumNesting)
    guard case .object(let members) = root.kind else { return job }
    var json = JSONWriter()
    json.beginObject()
    service.writeObject(pushType: pushType, payload: payload, to: &json)
    json.array("services", [service.name])
    // The audience is copied unchanged, so that the same users are selected.
    let kept = JobField.names(of: .companion)
    for member in members where kept.contains(member.name) {
      json.name(member.name)
      json.raw(job[member.value.range])
    }
    json.endObject()
    return json.take()
  }

  // MARK: Reading

  /// Returns the legs of a job, each with its companions from the field `also`.
  ///
  /// - Parameters:
  ///   - pushType: the push type of the job itself for `service`.
  ///   - audience: the audience of the job.
  ///   - service: the push service of the leg that is being read.
  ///   - services: the push services that the job addresses.
  static func legs(
    _ fields: JobFields, pushType: String, _ audience: JobAudience, of service: any PushService,
    among services: [any PushService]
  ) throws(JobError) -> [CampaignLeg] {
    let types = try read(fields, pushType: pushType, audience, of: service, among: services)
    return services.map { service in
      CampaignLeg(service: service.name, companions: types.filter { service.refreshPayload(of: $0) != nil })
    }
  }

  private static func read(
    _ fields: JobFields, pushType: String, _ audience: JobAudience, of service: any PushService,
    among services: [any PushService]
  ) throws(JobError) -> [String] {
    guard let types = try fields.strings("also") else { return [] }
    var known: [String] = []
    for (index, type) in types.enumerated() {
      let place = "also[\(index)]"
      guard services.contains(where: { $0.refreshPayload(of: type) != nil }) else {
        throw fields.error(
          place, "\(Excerpt.quoted(type)) is not a push type for refreshes without an alert",
          hint: Nearest.hint(type, among: services.flatMap(\.refreshTypes)))
      }
      guard type != pushType || service.refreshPayload(of: type) == nil else {
        throw fields.error(place, "is the push type of the job itself", hint: "remove it")
      }
      guard !known.contains(type) else { throw fields.error(place, "is listed twice", hint: "remove one of them") }
      known.append(type)
    }
    guard !known.isEmpty else { return [] }
    switch audience.audience {
    case .segment, .users, .campaign: break
    case .tokens, .activity, .channel:
      throw fields.error(
        "also", "needs an audience of users: the other tokens are stored with the user",
        hint: "give a segment or users instead")
    }
    guard audience.limit == nil else {
      throw fields.error(
        "also",
        "can't be combined with audience.limit: the most recently seen users may differ between kinds of tokens",
        hint: "import the users as a segment, and omit the limit")
    }
    return known
  }
}
