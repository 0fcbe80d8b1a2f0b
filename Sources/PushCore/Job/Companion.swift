/// What a job sends beside its push: one of another type that shows nothing by itself and tells the app that there is something
/// new, to the tokens of that type which the same users have.
///
/// It is a campaign of its own, the *companion*, `ID.TYPE`, with a job that Carillon writes: the same audience and times, no
/// content, no rate and no caps. What is done to the campaign is done to its companions too.
public enum Companion {
  /// The id of the companion of a campaign for a type of push.
  public static func id(of campaign: String, _ pushType: String) -> String { "\(campaign).\(pushType)" }

  /// Fields of the job that its companion has too. `audience` as it is: the same users are drawn where the job draws.
  private static let common: Set = [
    "app", "audience", "lane", "sendAt", "localTime", "defaultTimezone", "late", "maxDuration", "expiration",
    "category",
    "transactional", "control", "test", "ttl", "results", "submittedBy",
  ]

  /// The job of a companion.
  ///
  /// - Parameters:
  ///   - job: a valid job.
  ///   - pushType: one that it names.
  ///   - payload: what is sent.
  /// - Throws: when the job is not valid JSON.
  public static func job(of job: [UInt8], _ pushType: String, payload: [UInt8]) throws(JSONSyntaxError) -> [UInt8] {
    let root = try JSONValue(parsing: job, maximumDepth: CampaignJob.maximumNesting)
    guard case .object(let members) = root.kind, case .string(let id)? = members.value("id")?.kind else { return job }
    var json = JSONWriter()
    json.beginObject()
    json.member("id", Self.id(of: id, pushType))
    json.member("beside", id)
    json.member("pushType", pushType)
    json.name("payload")
    json.raw(payload)
    for member in members where common.contains(member.name) {
      json.name(member.name)
      json.raw(job[member.value.range])
    }
    json.endObject()
    return json.take()
  }

  // MARK: Reading

  /// The campaign beside which a job is sent; `nil` for one of its own.
  static func readLead(_ fields: JobFields, id: String, pushType: String) throws(JobError) -> String? {
    guard let lead = try fields.string("beside") else { return nil }
    guard id == Self.id(of: lead, pushType) else {
      throw fields.error("beside", "is written by Carillon itself, into the job of a companion", hint: "leave it out")
    }
    return lead
  }

  /// The push types that a job names.
  ///
  /// - Parameters:
  ///   - pushType: of the job itself.
  ///   - audience: whom it goes to.
  ///   - service: the app's.
  static func read(
    _ fields: JobFields, id: String, pushType: String, _ audience: JobAudience, of service: any PushService
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
    guard let longest = known.map(\.utf8.count).max() else { return [] }
    switch audience.audience {
    case .segment, .users, .campaign: break
    case .tokens, .activity, .channel:
      throw fields.error(
        "also", "needs users: which other tokens they have is known by the user",
        hint: "give a segment or users instead")
    }
    guard fields.value("canary") == nil else {
      throw fields.error(
        "also", "stands beside canary, which makes two campaigns of the job", hint: "leave one of them out")
    }
    guard audience.limit == nil else {
      throw fields.error(
        "also", "stands beside audience.limit: who was seen last may differ from one kind of token to another",
        hint: "import the users as a segment, and leave out the limit")
    }
    let room =
      PlainName.maximumLength - longest - 1 - (fields.value("repeat") == nil ? 0 : Repetition.suffixLength)
    guard id.utf8.count <= room else {
      throw fields.error(
        "id", "is too long for a job with also: its companion is a campaign of this id and \(longest + 1) characters",
        hint: "use at most \(room) characters")
    }
    return known
  }
}
