/// What a job sends beside its push: one of another type that shows nothing by itself and tells the app that there is something
/// new, to the tokens of that type which the same users have.
///
/// It is a part of its campaign (``CampaignPart``): the same users, stages and times, no content, no rate and no caps.
enum Companion {
  /// What of a job holds for a companion, as a job.
  ///
  /// - Parameters:
  ///   - job: a valid job.
  ///   - pushType: one that it names.
  ///   - payload: what is sent.
  /// - Throws: when the job is not valid JSON.
  static func job(of job: [UInt8], _ pushType: String, payload: [UInt8]) throws(JSONSyntaxError) -> [UInt8] {
    let root = try JSONValue(parsing: job, maximumDepth: CampaignJob.maximumNesting)
    guard case .object(let members) = root.kind else { return job }
    var json = JSONWriter()
    json.beginObject()
    json.member("pushType", pushType)
    json.name("payload")
    json.raw(payload)
    // The audience as it is: the same users are drawn.
    let kept = JobField.names(of: .companion)
    for member in members where kept.contains(member.name) {
      json.name(member.name)
      json.raw(job[member.value.range])
    }
    json.endObject()
    return json.take()
  }

  // MARK: Reading

  /// The push types that a job names.
  ///
  /// - Parameters:
  ///   - pushType: of the job itself.
  ///   - audience: whom it goes to.
  ///   - service: the app's.
  static func read(
    _ fields: JobFields, pushType: String, _ audience: JobAudience, of service: any PushService
  ) throws(JobError) -> [String] {
    guard let types = try fields.strings("also") else { return [] }
    var known: [String] = []
    for (index, type) in types.enumerated() {
      let place = "also[\(index)]"
      guard service.refreshPayload(of: type) != nil else {
        throw fields.error(
          place, "\(Excerpt.quoted(type)) is no push that shows nothing by itself",
          hint: Nearest.hint(type, among: service.refreshTypes))
      }
      guard type != pushType else {
        throw fields.error(place, "is the push type of the job itself", hint: "leave it out")
      }
      guard !known.contains(type) else { throw fields.error(place, "stands there twice", hint: "leave one out") }
      known.append(type)
    }
    guard !known.isEmpty else { return [] }
    switch audience.audience {
    case .segment, .users, .campaign: break
    case .tokens, .activity, .channel:
      throw fields.error(
        "also", "needs users: which other tokens they have is known by the user",
        hint: "give a segment or users instead")
    }
    guard audience.limit == nil else {
      throw fields.error(
        "also", "stands beside audience.limit: who was seen last may differ from one kind of token to another",
        hint: "import the users as a segment, and leave out the limit")
    }
    return known
  }
}
