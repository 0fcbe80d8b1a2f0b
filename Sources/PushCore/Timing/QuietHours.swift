/// Quiet hours: hours of the day, by the clock of each device, in which the device gets no push.
public struct QuietHours: Sendable, Equatable {
  /// Handling of a push in the quiet hours. Raw values are names in a job.
  public enum Handling: String, CaseIterable, Sendable {
    /// The push waits for the end of the quiet hours.
    case hold
    /// The push is not sent: its outcome is `expired`.
    case drop
  }

  /// Beginning (`from`) and end (`to`) in seconds after midnight. If `to` is before `from`, the quiet hours end on the
  /// next day.
  public var from: Int
  public var to: Int
  public var handling: Handling

  /// Creates an instance with these values.
  ///
  /// - Parameters:
  ///   - from: seconds after midnight.
  ///   - to: seconds after midnight; must differ from `from`.
  public init(from: Int, to: Int, handling: Handling) {
    self.from = from
    self.to = to
    self.handling = handling
  }

  /// Returns the end of the quiet hours that contain an instant, both in UNIX seconds; `nil` if the instant is outside
  /// the quiet hours.
  ///
  /// If clocks skip ``from`` or ``to``, the instant of the skip counts. If clocks show ``from`` or ``to`` twice, the
  /// first occurrence counts.
  public func end(at instant: Int, in zone: ZoneRules) -> Int? {
    let today = zone.wall(at: instant).floorDivided(by: 86400).quotient
    // The quiet hours of the day before may not have ended.
    for day in today - 1...today + 1 {
      let start = zone.instant(ofWall: day * 86400 + from)
      let end = zone.instant(ofWall: (from < to ? day : day + 1) * 86400 + to)
      if start <= instant, instant < end { return end }
    }
    return nil
  }
}
