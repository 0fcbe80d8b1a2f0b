/// Rules for the send times of a campaign's pushes, in addition to its start time.
public struct CampaignTiming: Sendable, Equatable {
  /// Local time at which each device gets the push; `nil` to send it when the campaign begins.
  public var localTime: LocalTime?
  /// Time zone for devices whose time zone is unknown.
  public var defaultZone = CampaignTiming.utc
  /// Maximum lateness in seconds. Without local time, a job is accepted if `sendAt` is at most this number of seconds
  /// ago. With local time, a device still gets the push if its local time was at most this number of seconds before the
  /// start of the campaign.
  public var late = CampaignTiming.defaultLate
  /// Quiet hours, in which devices get no pushes.
  public var quietHours: QuietHours?
  /// Seconds after which no push is sent; `nil` for no limit. The seconds count from the start of the campaign. With
  /// local time, they count for each device from the time at which its push is due.
  public var maxDuration: Int?
  /// Schedule of a recurring campaign; `nil` for a campaign that runs once.
  public var repetition: Repetition?

  /// Default of ``defaultZone``.
  public static let utc = "UTC"
  /// Default of ``late``: an hour, for jobs that are submitted a little late.
  public static let defaultLate = 3600

  /// Creates the timing of a campaign that sends to all devices immediately.
  public init() {}

  /// Whether the time of a push depends on the device's clock.
  public var isPerDevice: Bool { localTime != nil || quietHours != nil }

  /// User attribute on which the time of a push depends; `nil` for none.
  public var attribute: String? { localTime?.attribute }

  /// Returns the time, in UNIX seconds, after which no push is sent to a device; `nil` for no limit.
  ///
  /// - Parameters:
  ///   - start: start of the campaign in UNIX seconds.
  ///   - due: time at which the push to the device is due, in UNIX seconds; `nil` for immediately.
  public func deadline(start: Int, due: Int?) -> Int? {
    maxDuration.map { (localTime == nil ? start : due ?? start) + $0 }
  }
}

/// Local time: a time on each device's own clock.
public struct LocalTime: Sendable, Equatable {
  /// Wall time: the time that a clock shows. The number is the seconds since 1970 at which UTC shows this time
  /// (``ZoneRules``).
  public var wall: Int
  /// Name of the user attribute that contains the user's own time of day. Users without this attribute get the push at
  /// ``wall``.
  public var attribute: String?

  /// Creates an instance with these values.
  public init(wall: Int, attribute: String? = nil) {
    self.wall = wall
    self.attribute = attribute
  }

  /// Largest offset ahead of UTC in seconds: the offset of Kiritimati, where clocks show a time first.
  static let furthestAhead = 14 * 3600

  /// Largest offset behind UTC in seconds: the offset of Baker Island, where clocks show a time last.
  static let furthestBehind = 12 * 3600

  /// Midnight at the beginning of the day of ``wall``, as a wall time.
  private var midnight: Int { wall.floorDivided(by: 86400).quotient * 86400 }

  /// Earliest time at which a push can be due, in UNIX seconds. At this time, the clocks furthest ahead of UTC show
  /// ``wall``, or with an attribute the midnight before ``wall``. A user's own time can be any time of that day.
  public var beginning: Int { (attribute == nil ? wall : midnight) - Self.furthestAhead }

  /// Latest time at which a push can be due, in UNIX seconds. At this time, the clocks furthest behind UTC show
  /// ``wall``, or with an attribute the midnight after ``wall``.
  var ending: Int { (attribute == nil ? wall : midnight + 86400) + Self.furthestBehind }

  /// Returns this local time on the first day on which ``beginning`` is not before an instant.
  ///
  /// - Parameter instant: UNIX seconds.
  func onFirstDay(notBefore instant: Int) -> LocalTime {
    let days = max(0, instant - beginning + 86_399).floorDivided(by: 86_400).quotient
    return LocalTime(wall: wall + days * 86_400, attribute: attribute)
  }

  /// Returns the wall time at which a user gets the push.
  ///
  /// - Parameter timeOfDay: seconds after midnight; `nil` for a user without a time of their own.
  public func wall(timeOfDay: Int?) -> Int { timeOfDay.map { midnight + $0 } ?? wall }

  /// Returns the time of day in a user's attributes: an hour, 0 to 23, or `HH:MM`.
  ///
  /// - Parameter attributes: the user's attributes, a JSON object.
  /// - Returns: seconds after midnight; `nil` if the user has no valid time.
  public func timeOfDay(of attributes: [UInt8]) -> Int? {
    guard let attribute, let bytes = PredicateAttributes(attributes, of: [attribute])[0].first else { return nil }
    let text = String(decoding: bytes, as: UTF8.self)
    if let hour = Int(text), 0...23 ~= hour { return hour * 3600 }
    return WallTime.timeOfDay(text)
  }
}

/// Calculation of the time at which a device gets a push. The worker calculates this time when it expands the slice,
/// and checks the quiet hours again when it sends the push. The type does no I/O.
public struct TargetTiming: Sendable, Equatable {
  /// Time at which the push to a device is due.
  public struct Slot: Sendable, Hashable {
    /// Due time in ms since the epoch; 0 for immediately.
    public var due: Int
    /// Whether the device gets no push, because its time has passed or is in the quiet hours.
    public var isDropped: Bool

    /// Creates an instance with these values.
    public init(due: Int, isDropped: Bool = false) {
      self.due = due
      self.isDropped = isDropped
    }

    /// Slot of a device that gets no push.
    public static let dropped = Slot(due: 0, isDropped: true)
  }

  /// Timing of the campaign.
  public let timing: CampaignTiming
  /// Start of the campaign in ms since the epoch.
  private let start: Int

  /// - Parameters:
  ///   - timing: the timing of the campaign.
  ///   - start: start of the campaign in ms since the epoch.
  public init(_ timing: CampaignTiming, start: Int) {
    self.timing = timing
    self.start = start
  }

  /// Returns the time slot of a device.
  ///
  /// - Parameters:
  ///   - zone: the time zone of the device.
  ///   - timeOfDay: the user's own time of day in seconds after midnight; `nil` for none.
  ///   - now: ms since the epoch.
  public func slot(in zone: ZoneRules, timeOfDay: Int?, now: Int) -> Slot {
    var slot = Slot(due: 0)
    if let local = timing.localTime {
      slot.due = zone.instant(ofWall: local.wall(timeOfDay: timeOfDay)) * 1000
      if slot.due + timing.late * 1000 < start { return .dropped }
    }
    guard let quiet = timing.quietHours else { return slot }
    let earliest = max(slot.due, start, now).floorDivided(by: 1000).quotient
    guard let end = quiet.end(at: earliest, in: zone) else { return slot }
    guard quiet.handling == .hold else { return .dropped }
    slot.due = end * 1000
    // If the quiet hours end after the deadline of the push, the push is dropped immediately.
    if let deadline = timing.deadline(start: start / 1000, due: end), deadline <= end { return .dropped }
    return slot
  }

  /// Returns the end of the present quiet hours in a zone; `nil` if the time is outside the quiet hours.
  ///
  /// - Parameter now: present time in ms since the epoch, the unit of the result.
  public func quietEnd(in zone: ZoneRules, now: Int) -> Int? {
    timing.quietHours?.end(at: now.floorDivided(by: 1000).quotient, in: zone).map { $0 * 1000 }
  }
}
