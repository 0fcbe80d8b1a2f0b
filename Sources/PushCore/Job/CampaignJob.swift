/// Parser of jobs: the JSON that producers write. It checks every rule that needs no data from the store. Commands and
/// workers use the same parser.
public enum CampaignJob {
  /// Maximum size of a job in bytes. A job of this size has room for 15,000 tokens, and a worker parses it in a few
  /// milliseconds. A larger audience belongs in a segment.
  public static let maximumSize = 1 << 20

  /// Maximum nesting of objects and arrays.
  public static let maximumNesting = 32

  /// Names of the fields of a job, without the objects of the push services.
  public static let fields = JobField.all.map(\.name)

  /// Returns the campaign that a job describes, with all defaults filled in.
  ///
  /// - Parameters:
  ///   - job: one JSON object in UTF-8.
  ///   - apps: the allowed apps.
  ///   - id: id of the campaign, if it is a run of a recurring job; `nil` for the id in the job.
  ///   - now: present time in UNIX seconds. `nil` skips the checks that depend on the time: use `nil` for a job that
  ///     may have waited, and for a campaign that has begun.
  /// - Throws: the first error. A broken rule with the severity warning (``PushRule/Severity/warning``) is not an
  ///   error.
  public static func parse(
    _ job: some Collection<UInt8>, _ apps: JobApps, as id: String? = nil, now: Int? = nil
  ) throws(JobError) -> Campaign {
    let (campaign, findings) = try examine(job, apps, as: id, now: now)
    if let finding = findings.first(where: { $0.rule.severity == .error }) { throw JobError(finding) }
    return campaign
  }

  /// Returns the campaign that a job describes, and a finding for each push rule that the job breaks.
  ///
  /// - Parameters:
  ///   - job: one JSON object in UTF-8.
  ///   - apps: the allowed apps.
  ///   - id: id of the campaign, if it is a run of a recurring job; `nil` for the id in the job.
  ///   - now: UNIX seconds; `nil` skips the rules that depend on the time. Use `nil` for a job that may have waited.
  ///   - leg: the push service of the only leg to examine; `nil` for all legs.
  /// - Throws: the first error of the job that is not a broken push rule.
  public static func examine(
    _ job: some Collection<UInt8>, _ apps: JobApps, as id: String? = nil, now: Int? = nil, leg: String? = nil
  ) throws(JobError) -> (campaign: Campaign, findings: [Finding]) {
    try checkSize(job)
    var bytes = Array(job)
    var root = try parsed(bytes)
    if let dated = try dated(root, bytes, apps, now: now) {
      bytes = dated
      root = try parsed(bytes)
    }
    let whole = try read(root, in: bytes, apps, as: id, leg: leg)
    var findings: [(service: String, findings: [Finding])] = []
    for name in leg.map({ [$0] }) ?? whole.campaign.legs.map(\.service) {
      let (campaign, service) = try name == whole.service.name ? whole : read(root, in: bytes, apps, as: id, leg: name)
      try checkParts(of: campaign, Array(job), apps, service, now: now)
      var found = service.findings(in: root, bytes, now: now)
      for finding in companionFindings(of: campaign, service)
      where !found.contains(where: { $0.rule.id == finding.rule.id }) {
        found.append(finding)
      }
      findings.append((service.title, found))
    }
    return (whole.campaign, Finding.joined(findings))
  }

  /// Returns a finding for each push rule that the companions of a campaign break. For example, the certificate of the
  /// app may not allow the push type of a companion.
  public static func companionFindings(of campaign: Campaign, _ service: any PushService) -> [Finding] {
    campaign.companions(of: service).flatMap { type in
      service.findings(ofRefresh: type).map { Finding($0.rule, "also", $0.message, hint: $0.hint) }
    }
  }

  /// Throws an error if a job is too large.
  public static func checkSize(_ job: some Collection<UInt8>) throws(JobError) {
    guard job.count > maximumSize else { return }
    throw JobError(
      field: "",
      message: "the job has \(job.count) bytes, \(job.count - maximumSize) over the limit of \(maximumSize)",
      hint: "put the audience into a segment: carillon segment import NAME FILE")
  }

  /// Checks the times of a campaign, and each of its stages and companions with its own start. For example, a stage
  /// must not begin after the campaign has expired.
  ///
  /// - Parameter now: present time in UNIX seconds; `nil` skips the checks that depend on the present time.
  public static func checkParts(
    of campaign: Campaign, _ job: [UInt8], _ apps: JobApps, _ service: any PushService, now: Int?
  ) throws(JobError) {
    if let now, let problem = campaign.problemOfTimes(now: now * 1000) { throw problem }
    if let start = [now, campaign.delivery.sendAt.map { $0 / 1000 }].compactMap(\.self).max(),
      let problem = campaign.problemOfStages(start: start)
    {
      throw problem
    }
    if let stages = campaign.delivery.stages, let now {
      let start = max(now, (campaign.delivery.sendAt ?? 0) / 1000)
      let rest = start + stages.minimumDuration(isLocal: campaign.delivery.timing.localTime != nil)
      let known = try findings(in: job, apps, service, at: start)
      for finding in try findings(in: job, apps, service, at: rest)
      where !known.contains(where: { $0.rule.id == finding.rule.id && $0.path == finding.path }) {
        throw JobError(
          field: finding.path, message: finding.message + " (when the last stage begins)", hint: finding.hint)
      }
    }
    for type in campaign.companions(of: service) { _ = try companion(of: campaign, type, job, apps, service) }
  }

  /// Returns a finding for each push rule that a job breaks if it begins at a time, in UNIX seconds.
  private static func findings(
    in job: [UInt8], _ apps: JobApps, _ service: any PushService, at time: Int
  ) throws(JobError) -> [Finding] {
    guard let dated = try dated(parsed(job), job, apps, startingAt: time) else {
      return service.findings(in: try parsed(job), job, now: time)
    }
    return service.findings(in: try parsed(dated), dated, now: time)
  }

  /// Returns the companion of a campaign with a push type.
  private static func companion(
    of campaign: Campaign, _ type: String, _ job: [UInt8], _ apps: JobApps, _ service: any PushService
  ) throws(JobError) -> Campaign {
    guard let payload = service.refreshPayload(of: type) else {
      throw JobError(
        field: "also", message: "\(Excerpt.quoted(type)) is not a push type for refreshes without an alert")
    }
    let bytes: [UInt8]
    do {
      bytes = try Companion.job(of: job, type, payload: payload, for: service)
    } catch {
      throw JobError(field: "", message: "not valid JSON: \(error)")
    }
    var companion = try read(parsed(bytes), in: bytes, apps, as: campaign.whole, leg: service.name).campaign
    companion.delivery.stages = campaign.delivery.stages
    return companion
  }

  /// Returns the companions of a job with `also`, each for the whole audience.
  ///
  /// - Parameter campaign: the campaign that was read from the job.
  public static func companions(
    of campaign: Campaign, _ job: [UInt8], _ apps: JobApps
  ) throws(JobError) -> [Campaign] {
    var companions: [Campaign] = []
    for leg in campaign.legs where !leg.companions.isEmpty {
      let (whole, service) = try read(parsed(job), in: job, apps, as: campaign.whole, leg: leg.service)
      for type in leg.companions { companions.append(try companion(of: whole, type, job, apps, service)) }
    }
    return companions
  }

  /// Returns the campaign of each leg of a job, for the whole audience.
  ///
  /// - Parameter campaign: the campaign that was read from the job.
  public static func legs(of campaign: Campaign, _ job: [UInt8], _ apps: JobApps) throws(JobError) -> [Campaign] {
    guard campaign.legs.count > 1 else { return [campaign] }
    var legs: [Campaign] = []
    for leg in campaign.legs {
      legs.append(try read(parsed(job), in: job, apps, as: campaign.whole, leg: leg.service).campaign)
    }
    return legs
  }

  /// Returns a part of a campaign, or the campaign itself.
  ///
  /// - Parameters:
  ///   - id: the id of the part or of the campaign.
  ///   - job: the job of the campaign.
  ///   - apps: the allowed apps.
  ///   - start: actual or planned start of the part in UNIX seconds. Relative times count from this start.
  ///   - variant: position of the variant that was chosen after an earlier stage; `nil` for none.
  public static func part(
    _ id: CampaignID, of job: [UInt8], _ apps: JobApps, start: Int, variant: Int? = nil
  ) throws(JobError) -> Campaign {
    var bytes = job
    if let dated = try dated(parsed(job), job, apps, startingAt: start) { bytes = dated }
    guard let part = id.part else { return try parse(bytes, apps, as: id.whole) }
    var (campaign, findings) = try examine(bytes, apps, as: id.whole, leg: part.service)
    if let finding = findings.first(where: { $0.rule.severity == .error }) { throw JobError(finding) }
    guard campaign.parts.contains(part) else {
      throw JobError(field: "", message: "the job has no part \(Excerpt.quoted("\(part)"))")
    }
    if let type = part.companion {
      let (whole, service) = try read(parsed(bytes), in: bytes, apps, as: id.whole, leg: part.service)
      campaign = try companion(of: whole, type, bytes, apps, service)
    }
    campaign.id = id.description
    campaign.part = part
    campaign.message.variant = variant
    if let stages = campaign.delivery.stages {
      campaign.delivery.rate = stages.rate(
        campaign.delivery.rate, ofStage: campaign.index(of: part.stage), start: start)
    }
    if let local = campaign.delivery.timing.localTime, campaign.index(of: part.stage) > 0 {
      let later = local.onFirstDay(notBefore: start)
      campaign.delivery.timing.localTime = later
      campaign.delivery.sendAt = later.beginning * 1000
    }
    return campaign
  }

  private static func parsed(_ bytes: [UInt8]) throws(JobError) -> JSONValue {
    do {
      return try JSONValue(parsing: bytes, maximumDepth: maximumNesting)
    } catch {
      throw JobError(field: "", message: "not valid JSON: \(error)")
    }
  }

  /// Start of a campaign for checks without the present time. Any value is suitable.
  private static let exampleStart = 1_800_000_000

  /// Returns a job in which absolute times replace the times in its pushes that are relative to the campaign's start;
  /// `nil` if the job has no such time. The function assumes that the campaign starts at `sendAt`, or at `now` if the
  /// job has no `sendAt`. A stored job keeps its relative times, because the start may change until its campaign
  /// begins.
  ///
  /// - Parameter now: UNIX seconds; `nil` uses an arbitrary time.
  /// - Throws: an error if one of these times is invalid on its own.
  public static func dated(
    _ root: JSONValue, _ bytes: [UInt8], _ apps: JobApps, now: Int?
  ) throws(JobError) -> [UInt8]? {
    var start = now ?? exampleStart
    if case .object(let members) = root.kind, case .string(let text)? = members.value("sendAt")?.kind,
      let sendAt = Timestamp.milliseconds(text)
    {
      start = max(now ?? 0, sendAt / 1000)
    }
    return try dated(root, bytes, apps, startingAt: start)
  }

  /// Returns a job in which absolute times replace the times in its pushes that are relative to the campaign's start;
  /// `nil` if the job has no such time, or does not address valid services.
  ///
  /// - Parameter start: start of the campaign in UNIX seconds.
  private static func dated(
    _ root: JSONValue, _ bytes: [UInt8], _ apps: JobApps, startingAt start: Int
  ) throws(JobError) -> [UInt8]? {
    guard case .object(let members) = root.kind,
      let services = try? JobServices.read(JobFields(members), apps).services
    else { return nil }
    for service in services {
      if let dated = try service.dated(root, bytes, start: start) { return dated }
    }
    return nil
  }

  /// Returns the campaign of a job with the message of one leg, and the push service of this leg. The function checks
  /// the format of the job but not the push rules of the service.
  ///
  /// - Parameter leg: the push service of the leg; `nil` for the first one.
  public static func read(
    _ root: JSONValue, in bytes: [UInt8], _ apps: JobApps, as given: String? = nil, leg: String? = nil
  ) throws(JobError) -> (campaign: Campaign, service: any PushService) {
    try refuse(moved: movedFields(of: root, apps))
    let all = apps.serviceNames
    let fields = try JobFields(root, path: "", known: fields + all, planned: [])
    let own = try readID(fields)
    let id = given ?? own
    let (app, services) = try JobServices.read(fields, apps)
    guard let service = leg.map({ name in services.first { $0.name == name } }) ?? services.first else {
      throw fields.error("services", "the job does not address the push service \(leg ?? "")")
    }
    try JobServices.checkObjects(of: fields, services, known: all, app: app, apps)
    let known = services.map(\.name)
    try JobServices.check(services, for: fields.required("audience"), fields)
    let audience = try JobAudience(
      fields.required("audience"), in: bytes, of: service, campaign: id, path: "audience")
    let members = try JobVariants.members(of: fields, services: known)
    let variants = try JobVariants.read(fields, members, campaign: id, to: audience.audience)
    let payload = try JobPayload(
      fields, variants: members, in: bytes, to: audience.audience, as: fields.required("audience"), campaign: id,
      for: service, services: Set(known))
    let options = payload.options
    var content = payload.content
    for other in services where other.name != service.name {
      let step =
        try JobPayload(
          fields, variants: members, in: bytes, to: audience.audience, as: fields.required("audience"), campaign: id,
          for: other, services: Set(known)
        ).content?.badgeStep ?? 0
      guard step > 0, step != content?.badgeStep ?? 0 else { continue }
      guard content?.badgeStep ?? 0 == 0 else {
        throw fields.error(
          "message.badge", "differs between \(service.title) and \(other.title)",
          hint: "use the same step for all services: a user has one badge count")
      }
      // A user has one badge count for all services. If the pushes of one leg increase it, all legs increase it, also
      // for a user who has no device of that service.
      content = content ?? PersonalContent(payload: payload.payload)
      content?.badgeStep = step
    }
    let timing = try JobTiming(fields, audience: audience.audience)
    var campaign = Campaign(
      id: id,
      app: app,
      audience: audience.audience,
      predicate: audience.predicate,
      sample: audience.sample,
      limit: audience.limit,
      devices: audience.devices,
      control: try readControl(
        fields, campaign: id, audience.audience, isTransactional: fields.flag("transactional")),
      stages: try JobStages.read(fields, campaign: id, audience, variants),
      variants: variants,
      exclusion: audience.exclusion,
      category: try readCategory(fields),
      isTransactional: try fields.flag("transactional"),
      payload: payload.payload,
      content: content,
      recipientValues: content?.values.isEmpty == false ? audience.values : [:],
      hasValuesBeside: try readVars(fields, for: content),
      pushType: options.pushType,
      priority: options.priority,
      expiration: try fields.expiration(sendAt: timing.sendAt) ?? options.expiration,
      collapseID: try readCollapseID(fields),
      lane: try fields.choice("lane", default: .normal),
      sendAt: timing.sendAt,
      rate: try fields.rate(sendAt: timing.sendAt),
      timing: timing.timing,
      results: try fields.choice("results", default: .failures),
      ambiguity: try fields.choice("ambiguity", default: .resend),
      timeToLive: try readTimeToLive(fields),
      submittedBy: try readSubmitter(fields))
    campaign.recipients.token = audience.token
    campaign.leg = leg
    campaign.legs = try Companion.legs(fields, pushType: options.pushType, audience, of: service, among: services)
    campaign.message.place = payload.path
    guard campaign.activity == nil || service.tokenKind(for: campaign) == .liveActivity else {
      throw JobError(
        field: "audience.activity",
        message: "selects tokens of a Live Activity, and this push type can't use them",
        hint: "use push type liveactivity with event update or end; for a start use segment or users")
    }
    return (campaign, service)
  }

  /// Returns the id and the timing of a job, regardless of errors in other fields; `nil` if id or timing can't be read.
  public static func timing(of job: [UInt8]) -> (id: String, timing: CampaignTiming)? {
    guard let root = try? JSONValue(parsing: job, maximumDepth: maximumNesting), case .object(let members) = root.kind,
      let id = try? readID(JobFields(members)),
      let timing = try? JobTiming(JobFields(members), audience: .users([])).timing
    else { return nil }
    return (id, timing)
  }

  private static func readVars(_ fields: JobFields, for content: PersonalContent?) throws(JobError) -> Bool {
    guard try fields.flag("vars") else { return false }
    guard content?.values.isEmpty == false else {
      throw fields.error(
        "vars", "no text of the push uses a value",
        hint: "add {{name}} to a text, or omit vars")
    }
    return true
  }

  /// Returns the destination of a job's push.
  public static func destination(_ root: JSONValue) -> PushDestination {
    guard case .object(let members) = root.kind else { return .devices }
    return PushDestination(members.value("audience"))
  }

  private static func readID(_ fields: JobFields) throws(JobError) -> String {
    let id = try fields.requiredString("id")
    guard PlainName.isValid(id) else {
      throw fields.error("id", "\(Excerpt.quoted(id)) is not a campaign id", hint: "it must be \(PlainName.form)")
    }
    return id
  }

  private static func readCategory(_ fields: JobFields) throws(JobError) -> String? {
    guard let category = try fields.string("category") else { return nil }
    guard PlainName.isValid(category) else {
      throw fields.error(
        "category", "\(Excerpt.quoted(category)) is not a valid category name", hint: "it must be \(PlainName.form)")
    }
    guard try !fields.flag("transactional") else {
      throw fields.error(
        "category", "can't be combined with transactional, which ignores opt-outs from categories",
        hint: "omit category or transactional")
    }
    return category
  }

  private static func readSubmitter(_ fields: JobFields) throws(JobError) -> String? {
    guard let name = try fields.string("submittedBy") else { return nil }
    if let problem = PersonName.problem(name) {
      throw fields.error("submittedBy", problem, hint: "correct it or omit it")
    }
    return name
  }

  private static func readCollapseID(_ fields: JobFields) throws(JobError) -> String? {
    guard let id = try fields.string("collapseId") else { return nil }
    guard !id.isEmpty else { throw fields.error("collapseId", "must not be empty", hint: "omit it") }
    // The id becomes a header. RFC 9110, 5.5, allows no control characters and no blank at either end.
    guard !id.unicodeScalars.contains(where: Excerpt.isControl), id.first != " ", id.last != " " else {
      throw fields.error("collapseId", "must not have control characters, or blanks at its ends")
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
