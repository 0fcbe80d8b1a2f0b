/// When the pushes of a campaign are sent, as far as its beginning alone does not say so.
public struct CampaignTiming: Sendable, Equatable {
  /// At which time of its own clock each device gets it; `nil` for when the campaign begins.
  public var localTime: LocalTime?
  /// The zone of devices of which none is known.
  public var defaultZone = CampaignTiming.utc
  /// Seconds by which `sendAt` may have passed when the job is submitted; by each device's own clock, seconds by which that
  /// time may have passed when the campaign begins: a device that is later than that gets nothing.
  public var late = CampaignTiming.defaultLate
  /// When devices get nothing.
  public var quietHours: QuietHours?
  /// Seconds after which nothing more is sent: from the beginning, or from each device's own time.
  public var maxDuration: Int?
  /// When a campaign like it begins, again and again; `nil` for one that is sent itself.
  public var repetition: Repetition?

  /// The zone of those of which no other is known, unless the job says otherwise.
  public static let utc = "UTC"
  /// An hour: who registers, or submits, a little late means it all the same.
  public static let defaultLate = 3600

  /// At once, to everybody.
  public init() {}

  /// Whether it depends on a device's clock when that gets it.
  public var isPerDevice: Bool { localTime != nil || quietHours != nil }

  /// The attribute of users that it depends on.
  public var attribute: String? { localTime?.attribute }

  /// UNIX seconds from which on nothing is sent to a device; `nil` for never.
  ///
  /// - Parameters:
  ///   - start: when the campaign began, in UNIX seconds.
  ///   - due: when the device gets it; `nil` for at once.
  public func deadline(start: Int, due: Int?) -> Int? {
    maxDuration.map { (localTime == nil ? start : due ?? start) + $0 }
  }
}

/// A time by each device's own clock.
public struct LocalTime: Sendable, Equatable {
  /// What the clock shows then, as ``ZoneRules`` counts it.
  public var wall: Int
  /// The attribute of users that has the hour of that day in the place of this one; those who have none get it at ``wall``.
  public var attribute: String?

  /// Memberwise.
  public init(wall: Int, attribute: String? = nil) {
    self.wall = wall
    self.attribute = attribute
  }

  /// Seconds by which the clocks are ahead of UTC that come first: those of Kiritimati.
  static let furthestAhead = 14 * 3600

  /// Seconds by which the clocks are behind UTC that come last: those of Baker Island.
  static let furthestBehind = 12 * 3600

  /// The midnight before, by the wall clock.
  private var midnight: Int { wall.floorDivided(by: 86400).quotient * 86400 }

  /// UNIX seconds before which no clock shows it.
  public var beginning: Int { (attribute == nil ? wall : midnight) - Self.furthestAhead }

  /// UNIX seconds from which on every clock has shown it.
  var ending: Int { (attribute == nil ? wall : midnight + 86400) + Self.furthestBehind }

  /// The same time of day on the first day on which no clock has shown it at an instant.
  ///
  /// - Parameter instant: UNIX seconds.
  func onFirstDay(notBefore instant: Int) -> LocalTime {
    let days = max(0, instant - beginning + 86_399).floorDivided(by: 86_400).quotient
    return LocalTime(wall: wall + days * 86_400, attribute: attribute)
  }

  /// What the clock shows when a user gets it.
  ///
  /// - Parameter timeOfDay: seconds after midnight; `nil` for those who have not said.
  public func wall(timeOfDay: Int?) -> Int { timeOfDay.map { midnight + $0 } ?? wall }

  /// The time of day that a user wants: an hour, 0 to 23, or `HH:MM`.
  ///
  /// - Parameter attributes: the user's, a JSON object.
  /// - Returns: seconds after midnight; `nil` for one who has none that can be read.
  public func timeOfDay(of attributes: [UInt8]) -> Int? {
    guard let attribute, let bytes = PredicateAttributes(attributes, of: [attribute])[0].first else { return nil }
    let text = String(decoding: bytes, as: UTF8.self)
    if let hour = Int(text), 0...23 ~= hour { return hour * 3600 }
    return WallTime.timeOfDay(text)
  }
}

/// When a device gets a push, decided when a slice is expanded and again when it is to be sent. Pure.
public struct TargetTiming: Sendable, Equatable {
  /// When a device gets it.
  public struct Slot: Sendable, Hashable {
    /// ms since the epoch; 0 for at once.
    public var due: Int
    /// Whether it gets nothing: its time has passed, or is a quiet one.
    public var isDropped: Bool

    /// Memberwise.
    public init(due: Int, isDropped: Bool = false) {
      self.due = due
      self.isDropped = isDropped
    }

    /// It gets nothing.
    public static let dropped = Slot(due: 0, isDropped: true)
  }

  /// What the campaign says.
  public let timing: CampaignTiming
  /// When it began, in ms since the epoch.
  private let start: Int

  /// - Parameters:
  ///   - timing: what the campaign says.
  ///   - start: when it began, in ms since the epoch.
  public init(_ timing: CampaignTiming, start: Int) {
    self.timing = timing
    self.start = start
  }

  /// When a device gets it.
  ///
  /// - Parameters:
  ///   - zone: the device's.
  ///   - timeOfDay: the user's own hour, in seconds after midnight; `nil` for one who has none.
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
    guard quiet.fate == .hold else { return .dropped }
    slot.due = end * 1000
    // What would be held for longer than it may take is not held.
    if let deadline = timing.deadline(start: start / 1000, due: end), deadline <= end { return .dropped }
    return slot
  }

  /// When the quiet time of a zone ends; `nil` when there is none now.
  ///
  /// - Parameter now: ms since the epoch, as the answer.
  public func quietEnd(in zone: ZoneRules, now: Int) -> Int? {
    timing.quietHours?.end(at: now.floorDivided(by: 1000).quotient, in: zone).map { $0 * 1000 }
  }
}
