/// Schedule of a recurring job. Each *run* is a separate campaign.
public struct Repetition: Sendable, Equatable {
  /// Times of the runs.
  public var schedule: CronSchedule
  /// Text of the schedule as in the job.
  public var text: String
  /// Time zone of the schedule. If the campaigns use the local time of each device, the time zones of the devices apply
  /// instead.
  public var zone: String
  /// Time of the last possible run: a wall time if the campaigns use the local time of each device, otherwise UNIX
  /// seconds. `nil` for no end.
  public var end: Int?
  /// Time of the first possible run, in the unit of ``end``; `nil` for no limit.
  public var start: Int?
  /// Maximum number of runs; `nil` for no limit.
  public var count: Int?
  /// Whether a run is skipped if an earlier run has not ended.
  public var skipsIfRunning: Bool

  /// Creates an instance with these values.
  public init(
    schedule: CronSchedule, text: String, zone: String = CampaignTiming.utc, start: Int? = nil, end: Int? = nil,
    count: Int? = nil, skipsIfRunning: Bool = false
  ) {
    self.schedule = schedule
    self.text = text
    self.zone = zone
    self.start = start
    self.end = end
    self.count = count
    self.skipsIfRunning = skipsIfRunning
  }

  /// Text of the error for a schedule without a further run.
  public var problemWithoutRun: String { "no time of \(Excerpt.quoted(text)) remains before its end" }

  /// Run of a recurring job: one campaign.
  public struct Run: Sendable, Equatable {
    /// Start of the campaign in UNIX seconds.
    public var begins: Int
    /// Wall time of the run in the zone of the schedule, or on the devices.
    public var wall: Int

    /// Creates an instance with these values.
    public init(begins: Int, wall: Int) {
      self.begins = begins
      self.wall = wall
    }
  }

  /// Returns the last run that is due. Workers start only this run, and none of the runs that they missed before it.
  ///
  /// - Parameters:
  ///   - instant: UNIX seconds.
  ///   - missed: time at which the first missed run was due, in UNIX seconds; not later than `instant`.
  ///   - local: the local time of the devices; `nil` if the times are in the schedule's zone.
  ///   - zone: the rules of ``zone``.
  public func last(until instant: Int, from missed: Int, _ local: LocalTime?, in zone: ZoneRules) -> Run? {
    var run: Run?
    if local != nil {
      // With local time, a campaign begins at most a day and 14 hours before its wall time, so a search over the last
      // three days is sufficient.
      var next = self.next(after: max(missed - 1, instant - 3 * 86400), local, in: zone)
      while let found = next, found.begins <= instant {
        run = found
        next = self.next(after: found.begins, local, in: zone)
      }
      return run ?? self.next(after: missed - 1, local, in: zone)
    }
    let last = schedule.last(until: min(instant, end ?? instant), after: missed - 1, in: zone)
    return last.map { Run(begins: $0, wall: zone.wall(at: $0)) }
  }

  /// Returns the first run that begins after an instant; `nil` if there is none.
  ///
  /// - Parameters:
  ///   - instant: UNIX seconds.
  ///   - local: the local time of the devices; `nil` if the times are in the schedule's zone.
  ///   - zone: the rules of ``zone``.
  public func next(after instant: Int, _ local: LocalTime?, in zone: ZoneRules) -> Run? {
    guard let local else {
      let next = schedule.next(after: max(instant, start.map { $0 - 1 } ?? instant), in: zone)
      guard let next, next <= end ?? next else { return nil }
      return Run(begins: next, wall: zone.wall(at: next))
    }
    var wall = max(instant, start.map { $0 - 1 } ?? instant)
    while let next = schedule.next(after: wall, in: .utc), next <= end ?? next {
      let begins = LocalTime(wall: next, attribute: local.attribute).beginning
      if begins > instant { return Run(begins: begins, wall: next) }
      wall = next
    }
    return nil
  }

  /// Returns the id of a run's campaign: `digest~20261201T0900`.
  public static func id(of run: Run, parent: String) -> String {
    parent + String(CampaignID.separator) + WallTime.format(run.wall).filter { $0 != "-" && $0 != ":" }.prefix(13)
  }

  /// Splits the id of a run.
  ///
  /// - Returns: the id of the recurring job and the wall time of the run; `nil` if the text is not the id of a run.
  public static func run(_ id: String) -> (parent: String, wall: Int)? {
    guard let place = id.lastIndex(of: CampaignID.separator) else { return nil }
    let time = Array(id[id.index(after: place)...])
    guard time.count == suffixLength - 1 else { return nil }
    let text = "\(String(time[0..<4]))-\(String(time[4..<6]))-\(String(time[6..<11])):\(String(time[11...])):00"
    return WallTime.seconds(text).map { (String(id[..<place]), $0) }
  }

  /// Number of characters that the id of a run has in addition to the job's id.
  public static let suffixLength = 14
}
