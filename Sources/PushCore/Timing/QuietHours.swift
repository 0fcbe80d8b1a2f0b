/// Hours of the day, by the clock of each device, in which it gets nothing.
public struct QuietHours: Sendable, Equatable {
  /// What becomes of a push that falls into them. Raw values are names in a job.
  public enum Fate: String, CaseIterable, Sendable {
    /// It waits for their end.
    case hold
    /// It is not sent: its outcome is `expired`.
    case drop
  }

  /// Seconds after midnight. What ends before it begins is over on the next day.
  public var from: Int
  public var to: Int
  public var fate: Fate

  /// Memberwise.
  ///
  /// - Parameters:
  ///   - from: seconds after midnight.
  ///   - to: likewise, another time than `from`.
  public init(from: Int, to: Int, fate: Fate) {
    self.from = from
    self.to = to
    self.fate = fate
  }

  /// When the quiet time ends that an instant is in: both in UNIX seconds; `nil` when it is in none.
  ///
  /// They begin and end when the clocks get there: at the instant at which clocks skip it, and at the first of two.
  public func end(at instant: Int, in zone: ZoneRules) -> Int? {
    let today = zone.wall(at: instant).floorDivided(by: 86400).quotient
    // Those that began the day before may still last.
    for day in today - 1...today + 1 {
      let start = zone.instant(ofWall: day * 86400 + from)
      let end = zone.instant(ofWall: (from < to ? day : day + 1) * 86400 + to)
      if start <= instant, instant < end { return end }
    }
    return nil
  }
}
