/// When campaigns of one job begin, again and again.
public struct Repetition: Sendable, Equatable {
  /// At which times.
  public var schedule: CronSchedule
  /// The same as its job has it.
  public var text: String
  /// Whose clocks those times are of; where the campaigns are for each device's own time, the devices' own count.
  public var zone: String
  /// No run is later than this: by the wall clock where each device's own counts, else in UNIX seconds; `nil` for no end.
  public var end: Int?
  /// No run is before this, likewise.
  public var start: Int?
  /// How many runs there are; `nil` for no end.
  public var count: Int?
  /// Whether a run is left out when the one before has not ended.
  public var skipsIfRunning: Bool

  /// Memberwise.
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

  /// One campaign of it.
  public struct Run: Sendable, Equatable {
    /// When it begins, in UNIX seconds.
    public var begins: Int
    /// What the clocks that count show at its time; for each device's own time, what they will show then.
    public var wall: Int

    /// Memberwise.
    public init(begins: Int, wall: Int) {
      self.begins = begins
      self.wall = wall
    }
  }

  /// Runs that workers missed are made up for by one, the last of them.
  ///
  /// - Parameters:
  ///   - instant: UNIX seconds.
  ///   - missed: when the first one should have begun that is not later.
  ///   - local: where each device's own time counts; `nil` where the zone does.
  ///   - zone: the rules of ``zone``.
  public func last(until instant: Int, from missed: Int, _ local: LocalTime?, in zone: ZoneRules) -> Run? {
    var run: Run?
    if local != nil {
      // Days before the beginning of what comes next are enough: a beginning is a day and 14 hours ahead at most.
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

  /// The first run that begins after an instant; `nil` when there is none any more.
  ///
  /// - Parameters:
  ///   - instant: UNIX seconds.
  ///   - local: where each device's own time counts; `nil` where the zone does.
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

  /// The id of a run's campaign: `digest~20261201T0900`.
  public static func id(of run: Run, parent: String) -> String {
    parent + String(CampaignID.separator) + WallTime.format(run.wall).filter { $0 != "-" && $0 != ":" }.prefix(13)
  }

  /// Splits the id of a run.
  ///
  /// - Returns: the id of the repeated job, and what the clocks that count show at the time of the run; `nil` for the id of
  ///   no run.
  public static func run(_ id: String) -> (parent: String, wall: Int)? {
    guard let place = id.lastIndex(of: CampaignID.separator) else { return nil }
    let time = Array(id[id.index(after: place)...])
    guard time.count == suffixLength - 1 else { return nil }
    let text = "\(String(time[0..<4]))-\(String(time[4..<6]))-\(String(time[6..<11])):\(String(time[11...])):00"
    return WallTime.seconds(text).map { (String(id[..<place]), $0) }
  }

  /// Characters that such an id has beyond that of the job.
  public static let suffixLength = 14
}
