/// Parser of the `stages` of a job, with their rules.
enum JobStages {
  private static let known = [
    "users", "share", "wait", "approval", "maxFailures", "minOpened", "winner",
  ]

  /// Returns the stages of a campaign; `nil` if the job has none.
  ///
  /// - Parameters:
  ///   - id: the id of the campaign.
  ///   - audience: the audience of the job.
  ///   - variants: the variants of the job.
  static func read(
    _ job: JobFields, campaign id: String, _ audience: JobAudience, _ variants: CampaignVariants?
  ) throws(JobError) -> CampaignStages? {
    guard let value = job.value("stages") else { return nil }
    guard case .array(let elements) = value.kind, 1...CampaignStages.maximum ~= elements.count else {
      throw job.error(
        "stages", "must be an array of 1 to \(CampaignStages.maximum) stages",
        hint: #"a stage looks like: {"share": 0.05, "wait": "30m", "maxFailures": 0.02}"#)
    }
    switch audience.audience {
    case .segment, .users, .campaign: break
    case .tokens, .activity, .channel:
      throw job.error("stages", "need an audience of users", hint: "give a segment or users instead")
    }
    guard audience.limit == nil else {
      throw job.error(
        "stages",
        "can't be combined with audience.limit: the users within the limit would be known only after the last stage",
        hint: "import the users as a segment, and omit the limit")
    }
    var stages: [CampaignStages.Stage] = []
    for (index, element) in elements.enumerated() {
      let fields = try JobFields(element, path: job.path("stages[\(index)]"), known: known, planned: [])
      stages.append(try stage(fields, variants))
    }
    let shares = stages.reduce(0) { sum, stage in if case .share(let share) = stage.members { sum + share } else { sum }
    }
    guard shares < 1 else {
      throw job.error(
        "stages", "the shares add up to \(shares), so no user is left after the stages",
        hint: "make their sum less than 1")
    }
    guard stages.count(where: { $0.winner != nil }) <= 1 else {
      throw job.error("stages", "choose a winner twice", hint: "keep winner in one stage only")
    }
    return CampaignStages(stages, campaign: id)
  }

  private static func stage(
    _ fields: JobFields, _ variants: CampaignVariants?
  ) throws(JobError) -> CampaignStages.Stage {
    var stage = CampaignStages.Stage(try members(fields))
    if let text = try fields.string("wait") {
      guard let wait = DurationText.seconds(text), CampaignStages.waits ~= wait else {
        throw fields.error(
          "wait", "\(Excerpt.quoted(text)) is not a duration of up to 7d", hint: "it must be \(DurationText.form)")
      }
      stage.wait = wait
    }
    stage.approval = try fields.flag("approval")
    stage.maximumFailures = try share("maxFailures", fields, orNone: true)
    stage.minimumOpened = try share("minOpened", fields)
    stage.winner = try winner(fields, variants)
    return stage
  }

  private static func members(_ fields: JobFields) throws(JobError) -> CampaignStages.Members {
    guard (fields.value("users") == nil) != (fields.value("share") == nil) else {
      throw fields.error(
        "users", fields.value("users") == nil ? "and share are missing" : "can't be combined with share",
        hint: "use one of them to choose the users of the stage")
    }
    if let share = try share("share", fields) {
      guard share < 1 else {
        throw fields.error("share", "must be a number above 0 and below 1", hint: "0.01 is a hundredth of the users")
      }
      return .share(share)
    }
    let least = fields.hasErasedEntries("users") ? 0 : 1
    guard let users = try fields.users("users"), least...CampaignStages.maximumUsers ~= users.count else {
      throw fields.error("users", "must be 1 to \(CampaignStages.maximumUsers) users")
    }
    return .users(users)
  }

  private static func share(
    _ name: String, _ fields: JobFields, orNone: Bool = false
  ) throws(JobError) -> Double? {
    guard let value = fields.value(name) else { return nil }
    guard case .number(let text) = value.kind, let share = Double(text), share > 0 || orNone && share == 0, share <= 1
    else { throw fields.error(name, "must be a share, \(orNone ? "from 0 to 1" : "above 0 and at most 1")") }
    return share
  }

  private static func winner(
    _ stage: JobFields, _ variants: CampaignVariants?
  ) throws(JobError) -> CampaignStages.Winner? {
    guard let value = stage.value("winner") else { return nil }
    guard let variants else {
      throw stage.error(
        "winner", "needs variants, and the job has none", hint: "omit it, or add variants to the job")
    }
    let fields = try JobFields(
      value, path: stage.path("winner"), known: ["by", "minimum", "otherwise"], planned: [])
    return CampaignStages.Winner(
      measure: try fields.choice("by", default: .opened), minimum: try minimum(fields),
      otherwise: try otherwise(fields, variants))
  }

  private static func minimum(_ fields: JobFields) throws(JobError) -> Int {
    guard let value = fields.value("minimum") else { return CampaignStages.Winner.standardMinimum }
    guard case .number(let text) = value.kind, let minimum = Int(text), 1...1_000_000_000 ~= minimum else {
      throw fields.error(
        "minimum", "must be a whole number above 0: the minimum number of events of all variants together")
    }
    return minimum
  }

  private static func otherwise(
    _ fields: JobFields, _ variants: CampaignVariants
  ) throws(JobError) -> Int? {
    guard let name = try fields.string("otherwise") else { return nil }
    guard let place = variants.index(named: name) else {
      throw fields.error(
        "otherwise", "\(Excerpt.quoted(name)) is not one of the variants",
        hint: Nearest.hint(name, among: variants.all.map(\.name)))
    }
    return place
  }
}

extension Campaign {
  /// Returns the error for a job whose expiration or deadline is earlier than the earliest start of the last stage;
  /// `nil` if there is no such error.
  ///
  /// - Parameter start: start of the campaign in UNIX seconds.
  public func problemOfStages(start: Int) -> JobError? {
    guard let stages = delivery.stages else { return nil }
    let rest = start + stages.minimumDuration(isLocal: delivery.timing.localTime != nil)
    let begins = "the rest starts after the stages, at \(Timestamp.format(milliseconds: rest * 1000)) or later"
    if case .at(let seconds) = message.expiration, seconds <= rest {
      return JobError(
        field: "expiration", message: "ends before the last pushes start: " + begins,
        hint: "use a later time, or a duration, which counts from the start of each stage")
    }
    if case .until(let milliseconds)? = delivery.rate, milliseconds / 1000 <= rest {
      return JobError(
        field: "finishBy", message: "ends before the last pushes start: " + begins,
        hint: "use a later time, or shorter waits")
    }
    return nil
  }
}
