/// Parser of the times in a job, with their rules.
struct JobTiming {
  /// Timing of the campaign.
  var timing = CampaignTiming()
  /// Start of the campaign in ms since the epoch; `nil` for immediately.
  var sendAt: Int?

  /// Maximum duration of a campaign in seconds: the same as the maximum time for which a campaign may be scheduled
  /// ahead.
  private static let longest = 366 * 86400
  /// Maximum number of runs of a job.
  private static let maximumRuns = 100_000

  /// - Parameter audience: the audience of the job.
  init(_ fields: JobFields, audience: Audience) throws(JobError) {
    let isLocal = try readLocalTime(fields)
    if fields.value("quietHours") != nil { timing.quietHours = try Self.readQuietHours(fields) }
    try refuseWithoutDevices(fields, audience)
    if let zone = try fields.string("defaultTimezone") {
      timing.defaultZone = try Self.known(zone, "defaultTimezone", fields)
    }
    if let late = try fields.string("late") {
      timing.late = try Self.duration(late, "late", fields, from: 0)
    }
    if let longest = try fields.string("maxDuration") {
      timing.maxDuration = try Self.duration(longest, "maxDuration", fields, from: 1)
    }
    let repeats = fields.value("repeat") != nil
    if isLocal {
      for name in ["spread", "finishBy"] where fields.value(name) != nil {
        throw fields.error(
          name, "can't be combined with localTime, which has another time in each zone", hint: "use rate instead")
      }
      try readWall(fields, isRequired: !repeats)
    } else {
      sendAt = try Self.readInstant(fields)
    }
    if repeats { try readRepetition(fields, isLocal: isLocal) }
  }

  // MARK: Local time

  /// Reads `localTime`.
  ///
  /// - Returns: whether the job uses the local time of each device. `readWall` reads the time itself.
  private mutating func readLocalTime(_ fields: JobFields) throws(JobError) -> Bool {
    guard let value = fields.value("localTime") else { return false }
    switch value.kind {
    case .bool(false): return false
    case .bool(true): timing.localTime = LocalTime(wall: 0)
    case .object:
      let inner = try JobFields(value, path: fields.path("localTime"), known: ["attribute"], planned: [])
      let attribute = try inner.requiredString("attribute")
      guard !attribute.isEmpty else { throw inner.error("attribute", "is empty") }
      timing.localTime = LocalTime(wall: 0, attribute: attribute)
    default:
      throw fields.error(
        "localTime", "must be true, or name an attribute of users, not \(value.kindName)",
        hint: #"true, or {"attribute": "preferredHour"}"#)
    }
    return true
  }

  private mutating func readWall(_ fields: JobFields, isRequired: Bool) throws(JobError) {
    guard let text = try fields.string("sendAt") else {
      guard !isRequired else {
        throw fields.error("localTime", "needs sendAt, the local time", hint: "sendAt is then \(WallTime.form)")
      }
      return
    }
    guard let wall = WallTime.seconds(text) else {
      guard Timestamp.milliseconds(text) == nil else {
        throw fields.error(
          "sendAt", "\(Excerpt.quoted(text)) has a zone, but localTime uses each device's own zone",
          hint: "omit the zone: \(Excerpt.bare(String(text.prefix(19))))")
      }
      throw fields.error("sendAt", "\(Excerpt.quoted(text)) is not a local time", hint: "it must be \(WallTime.form)")
    }
    timing.localTime?.wall = wall
    sendAt = timing.localTime.map { $0.beginning * 1000 }
  }

  private func refuseWithoutDevices(_ fields: JobFields, _ audience: Audience) throws(JobError) {
    switch audience {
    case .segment, .users, .campaign, .activity: break
    case .tokens, .channel:
      guard timing.isPerDevice else { break }
      throw fields.error(
        timing.localTime != nil ? "localTime" : "quietHours",
        "needs an audience of users: the zone of a device is stored with its user",
        hint: "use segment or users as the audience")
    }
    // A recurring job itself is never sent, and each run begins when it is due. So `late` does not apply to the
    // `sendAt` of such a job.
    let hasTime = timing.localTime != nil || fields.value("sendAt") != nil && fields.value("repeat") == nil
    for (name, isOf) in [("defaultTimezone", timing.isPerDevice), ("late", hasTime)]
    where fields.value(name) != nil && !isOf {
      throw fields.error(
        name, "has no effect here",
        hint: name == "late" ? "it needs sendAt or localTime" : "it needs localTime or quietHours")
    }
  }

  private static func readQuietHours(_ fields: JobFields) throws(JobError) -> QuietHours {
    let inner = try JobFields(
      try fields.required("quietHours"), path: fields.path("quietHours"), known: ["from", "to", "then"], planned: [])
    func time(_ name: String) throws(JobError) -> Int {
      let text = try inner.requiredString(name)
      guard let time = WallTime.timeOfDay(text) else {
        throw inner.error(name, "\(Excerpt.quoted(text)) is not a time of day", hint: "it must be HH:MM, such as 22:00")
      }
      return time
    }
    let (from, to) = (try time("from"), try time("to"))
    guard from != to else {
      throw inner.error("to", "must differ from `from`", hint: "choose another time")
    }
    return QuietHours(from: from, to: to, handling: try inner.choice("then", default: .hold))
  }

  // MARK: Instants and durations

  /// Reads `sendAt` as a time with a zone. The store checks later, by the clock of Redis, that the time is not too far
  /// ahead.
  private static func readInstant(_ fields: JobFields) throws(JobError) -> Int? {
    guard let text = try fields.string("sendAt") else { return nil }
    guard let instant = Timestamp.milliseconds(text) else {
      guard WallTime.seconds(text) == nil else {
        throw fields.error(
          "sendAt", "\(Excerpt.quoted(text)) has no zone",
          hint: "add Z or an offset such as +01:00; or \"localTime\": true for each device's own clock")
      }
      throw fields.error("sendAt", "\(Excerpt.quoted(text)) is not an instant", hint: "it must be \(Timestamp.form)")
    }
    return instant
  }

  private static func duration(
    _ text: String, _ name: String, _ fields: JobFields, from least: Int
  ) throws(JobError) -> Int {
    guard let seconds = DurationText.seconds(text), least...longest ~= seconds else {
      throw fields.error(
        name, "\(Excerpt.quoted(text)) is not a duration from \(least)s to 366d",
        hint: "it must be \(DurationText.form)")
    }
    return seconds
  }

  private static func known(_ zone: String, _ name: String, _ fields: JobFields) throws(JobError) -> String {
    do throws(ZoneName.Problem) {
      return try ZoneName(checking: zone).text
    } catch {
      throw fields.error(name, "\(Excerpt.quoted(zone)) \(error.message)", hint: error.hint)
    }
  }

  // MARK: Recurring campaigns

  private mutating func readRepetition(_ fields: JobFields, isLocal: Bool) throws(JobError) {
    let inner = try JobFields(
      try fields.required("repeat"), path: fields.path("repeat"),
      known: ["cron", "zone", "end", "count", "skipIfRunning"], planned: [])
    if fields.value("finishBy") != nil {
      throw fields.error("finishBy", "is one instant, but the job is recurring", hint: "use spread or rate instead")
    }
    if case .string(let text)? = fields.value("expiration")?.kind, Timestamp.milliseconds(text) != nil {
      throw fields.error("expiration", "is one instant, but the job is recurring", hint: "use a duration, such as 4h")
    }
    let cron = try inner.requiredString("cron")
    let schedule: CronSchedule
    do {
      schedule = try CronSchedule(parsing: cron)
    } catch {
      throw inner.error("cron", error.message, hint: "it must be \(CronSchedule.form)")
    }
    var repetition = Repetition(schedule: schedule, text: cron)
    if let zone = try inner.string("zone") {
      guard !isLocal else {
        throw inner.error(
          "zone", "can't be combined with localTime, which uses each device's own zone", hint: "omit it")
      }
      repetition.zone = try Self.known(zone, "zone", inner)
    }
    if let text = try inner.string("end") {
      guard let end = isLocal ? WallTime.seconds(text) : Timestamp.milliseconds(text).map({ $0 / 1000 }) else {
        throw inner.error(
          "end", "\(Excerpt.quoted(text)) is not \(isLocal ? "a local time" : "an instant")",
          hint: "it must be \(isLocal ? WallTime.form : Timestamp.form)")
      }
      repetition.end = end
    }
    if let value = inner.value("count") {
      guard case .number(let text) = value.kind, let count = Int(text), 1...Self.maximumRuns ~= count else {
        throw inner.error("count", "must be a whole number from 1 to \(Self.maximumRuns)", hint: "omit it for no limit")
      }
      repetition.count = count
    }
    repetition.skipsIfRunning = try inner.flag("skipIfRunning")
    // `sendAt` is the earliest time of the first run. The job itself is never sent.
    repetition.start = isLocal ? (sendAt == nil ? nil : timing.localTime?.wall) : sendAt.map { $0 / 1000 }
    sendAt = nil
    timing.repetition = repetition
  }
}
