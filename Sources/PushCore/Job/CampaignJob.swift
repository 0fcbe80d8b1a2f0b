/// Reads the JSON that producers push: every rule that can be checked without a store is checked here, once, for the CLI
/// and for the workers alike.
public enum CampaignJob {
  /// The largest job in bytes: holds 15,000 tokens, and a worker parses it in some milliseconds. More belongs into a
  /// segment.
  public static let maximumSize = 1 << 20

  /// How many objects and arrays may stand in each other.
  public static let maximumNesting = 32

  private static let fields = [
    "id", "app", "audience", "payload", "pushType", "priority", "expiration", "collapseId", "lane", "sendAt",
    "results", "ambiguity", "ttl",
  ]
  private static let plannedFields: Set = ["localized", "localTime", "repeat", "finishBy", "rate"]

  /// The campaign that a job describes, every default filled in.
  ///
  /// - Parameters:
  ///   - job: one JSON object in UTF-8.
  ///   - knownApps: the apps of the configuration by name; `nil` leaves unchecked whatever depends on the app.
  /// - Throws: the first thing that is wrong. What the rules only warn of (``PushRule``) is not.
  public static func parse(
    _ job: some Collection<UInt8>, knownApps: [String: AppTraits]?
  ) throws(JobError) -> Campaign {
    let (campaign, findings) = try examine(job, knownApps: knownApps)
    if let finding = findings.first(where: { $0.rule.severity == .error }) { throw JobError(finding) }
    return campaign
  }

  /// The campaign that a job describes, and which rules for pushes it breaks.
  ///
  /// - Parameters:
  ///   - job: one JSON object in UTF-8.
  ///   - knownApps: the apps of the configuration by name; `nil` leaves unchecked whatever depends on the app.
  ///   - now: UNIX seconds; `nil` leaves out what depends on the time, as it must where a job may have waited.
  /// - Throws: the first thing that is wrong with the job apart from those rules.
  public static func examine(
    _ job: some Collection<UInt8>, knownApps: [String: AppTraits]?, now: Int? = nil
  ) throws(JobError) -> (campaign: Campaign, findings: [Finding]) {
    guard job.count <= maximumSize else {
      throw JobError(
        field: "",
        message: "the job has \(job.count) bytes, \(job.count - maximumSize) over the limit of \(maximumSize)",
        hint: "put the audience into a segment: carillon segment import NAME FILE")
    }
    let bytes = Array(job)
    let root: JSONValue
    do {
      root = try JSONValue(parsing: bytes, maximumDepth: maximumNesting)
    } catch {
      throw JobError(field: "", message: "not valid JSON: \(error)")
    }
    let campaign = try read(root, in: bytes, knownApps: knownApps)
    guard let draft = draft(root, in: bytes, knownApps: knownApps) else { return (campaign, []) }
    return (campaign, PushInspector.findings(in: draft, now: now))
  }

  /// The campaign of a job, held against the contract but not against the rules for pushes.
  static func read(
    _ root: JSONValue, in bytes: [UInt8], knownApps: [String: AppTraits]?
  ) throws(JobError) -> Campaign {
    let fields = try JobFields(root, path: "", known: fields, planned: plannedFields)
    let pushType = try fields.choice("pushType", default: PushType.alert)
    let sendAt = try readSendAt(fields)
    let destination = destination(root)
    let id = try readID(fields)
    let app = try readApp(fields, knownApps: knownApps)
    let service = knownApps?[app]?.service ?? AppTraits.standardService
    return Campaign(
      id: id,
      app: app,
      audience: try JobAudience.read(fields.required("audience"), of: service, path: "audience"),
      payload: try JobPayload.read(fields.required("payload"), in: bytes, path: "payload"),
      pushType: pushType,
      priority: try readPriority(fields, pushType: pushType),
      expiration: try readExpiration(fields, sendAt: sendAt) ?? destination.defaultExpiration(of: pushType),
      collapseID: try readCollapseID(fields),
      lane: try fields.choice("lane", default: .normal),
      sendAt: sendAt,
      results: try fields.choice("results", default: .failures),
      ambiguity: try fields.choice("ambiguity", default: .resend),
      timeToLive: try readTimeToLive(fields))
  }

  /// The push of a job, for the rules; `nil` when there is none to speak of. What is wrong with a field by itself counts as
  /// not given: that is ``read(_:in:knownApps:)``'s to say.
  static func draft(_ root: JSONValue, in bytes: [UInt8], knownApps: [String: AppTraits]?) -> PushDraft? {
    guard case .object(let members) = root.kind, let payload = members.value("payload"), case .object = payload.kind
    else { return nil }
    let fields = JobFields(members)
    let pushType = (try? fields.choice("pushType", default: PushType.alert)) ?? .alert
    return PushDraft(
      pushType: pushType, priority: try? readPriority(fields, pushType: pushType),
      expiration: try? readExpiration(fields, sendAt: nil), collapseID: try? fields.string("collapseId"),
      destination: destination(root),
      app: (try? fields.string("app")).flatMap { knownApps?[$0] }, payload: payload, path: "payload",
      size: JSONValue.minified(bytes[payload.range]).count)
  }

  /// The id that a job gives itself, though it may be wrong otherwise; `nil` when it gives none that could be one.
  public static func id(of job: [UInt8]) -> String? {
    guard job.count <= maximumSize, let root = try? JSONValue(parsing: job, maximumDepth: maximumNesting),
      case .object(let members) = root.kind,
      case .string(let id)? = members.first(where: { $0.name == "id" })?.value.kind, PlainName.isValid(id)
    else { return nil }
    return id
  }

  static func destination(_ root: JSONValue) -> PushDraft.Destination {
    guard case .object(let members) = root.kind, case .object(let audience)? = members.value("audience")?.kind
    else { return .devices }
    return audience.value("channel") == nil ? .devices : .channel
  }

  private static func readID(_ fields: JobFields) throws(JobError) -> String {
    let id = try fields.requiredString("id")
    guard PlainName.isValid(id) else {
      throw fields.error("id", "\(Excerpt.quoted(id)) is not a campaign id", hint: "it must be \(PlainName.form)")
    }
    return id
  }

  private static func readApp(_ fields: JobFields, knownApps: [String: AppTraits]?) throws(JobError) -> String {
    let app = try fields.requiredString("app")
    guard let knownApps else { return app }
    guard knownApps[app] != nil else {
      throw fields.error(
        "app", "no app \(Excerpt.quoted(app)) in the configuration", hint: Nearest.hint(app, among: knownApps.keys))
    }
    return app
  }

  private static func readPriority(_ fields: JobFields, pushType: PushType) throws(JobError) -> Int {
    guard let value = fields.value("priority") else { return pushType.defaultPriority }
    guard case .number(let text) = value.kind, let priority = Int(text), [10, 5, 1].contains(priority) else {
      throw fields.error("priority", "must be the number 10, 5 or 1")
    }
    return priority
  }

  /// How far ahead it may be is the store's to check, by Redis' clock.
  private static func readSendAt(_ fields: JobFields) throws(JobError) -> Int? {
    guard let text = try fields.string("sendAt") else { return nil }
    guard let instant = Timestamp.milliseconds(text) else {
      throw fields.error("sendAt", "\(Excerpt.quoted(text)) is not an instant", hint: "it must be \(Timestamp.form)")
    }
    return instant
  }

  private static func readExpiration(_ fields: JobFields, sendAt: Int?) throws(JobError) -> Expiration? {
    guard let value = fields.value("expiration") else { return nil }
    switch value.kind {
    case .number("0"), .string("0"): return .immediate
    case .string(let text):
      if let seconds = DurationText.seconds(text), seconds > 0 { return .after(seconds: seconds) }
      if let instant = Timestamp.milliseconds(text), instant >= 1000 {
        if let sendAt, instant <= sendAt {
          throw fields.error(
            "expiration", "is not after sendAt: nothing would be sent",
            hint: "a duration such as 4h counts from sendAt")
        }
        return .at(seconds: instant / 1000)
      }
    default: break
    }
    throw fields.error(
      "expiration", "must be 0 (one attempt, never stored), a duration or an instant",
      hint: "a duration is \(DurationText.form); an instant is \(Timestamp.form)")
  }

  private static func readCollapseID(_ fields: JobFields) throws(JobError) -> String? {
    guard let id = try fields.string("collapseId") else { return nil }
    guard !id.isEmpty else { throw fields.error("collapseId", "must not be empty", hint: "leave it out") }
    // It becomes a header: RFC 9110, 5.5, allows no control characters and no blank at either end.
    guard !id.unicodeScalars.contains(where: Excerpt.isControl), id.first != " ", id.last != " " else {
      throw fields.error("collapseId", "must not have control characters, nor blanks at its ends")
    }
    return id
  }

  private static func readTimeToLive(_ fields: JobFields) throws(JobError) -> Int {
    guard let text = try fields.string("ttl") else { return Campaign.defaultTimeToLive }
    guard let seconds = DurationText.seconds(text), seconds > 0 else {
      throw fields.error("ttl", "\(Excerpt.quoted(text)) is not a duration", hint: "it must be \(DurationText.form)")
    }
    return seconds
  }
}
