/// What clocks show in a time zone: its offsets from UTC and the instants at which they change.
///
/// *Wall time* is what a clock shows, as the seconds that UTC would have counted since 1970 when its clocks show the same.
public struct ZoneRules: Sendable, Equatable {
  /// From this instant on, in UNIX seconds, clocks are ahead of UTC by so many seconds.
  public struct Change: Sendable, Hashable {
    public var at: Int
    public var offset: Int

    /// Memberwise.
    public init(at: Int, offset: Int) {
      self.at = at
      self.offset = offset
    }
  }

  /// What clocks of a zone show in a stretch of time. Zones that are equal in this show the same in it.
  public struct Behaviour: Sendable, Hashable {
    /// At its beginning.
    public var offset: Int
    /// Within it, in their order.
    public var changes: [Change]
  }

  /// The offset before the first change.
  let first: Int
  /// In their order; neighbours differ in their offsets.
  let changes: [Change]
  /// What happens after the last change; `nil` for nothing any more.
  let future: YearlyRules?

  /// - Parameters:
  ///   - first: the offset before the first change.
  ///   - changes: in their order.
  ///   - future: what happens after the last change; `nil` for nothing any more.
  init(first: Int, changes: [Change], future: YearlyRules?) {
    self.first = first
    self.changes = changes
    self.future = future
  }

  /// Clocks that always show UTC.
  public static let utc = fixed(offset: 0)

  /// Clocks that are always so many seconds ahead of UTC.
  public static func fixed(offset: Int) -> ZoneRules { ZoneRules(first: offset, changes: [], future: nil) }

  /// How far clocks are ahead of UTC at an instant: both in seconds.
  public func offset(at instant: Int) -> Int {
    guard let last = changes.last else { return future?.offset(at: instant) ?? first }
    if instant >= last.at { return future?.offset(at: instant) ?? last.offset }
    // The first change that is still to come.
    var (low, high) = (0, changes.count)
    while low < high {
      let middle = (low + high) / 2
      if changes[middle].at <= instant { low = middle + 1 } else { high = middle }
    }
    return low == 0 ? first : changes[low - 1].offset
  }

  /// The changes in a stretch of time, in their order.
  public func changes(in range: Range<Int>) -> [Change] {
    var found = changes.filter { range.contains($0.at) }
    if let future {
      let from = max(range.lowerBound, changes.last.map { $0.at + 1 } ?? .min)
      if from < range.upperBound { found += future.changes(in: from..<range.upperBound) }
    }
    return found
  }

  /// What clocks show in a stretch of time.
  public func behaviour(in range: Range<Int>) -> Behaviour {
    Behaviour(offset: offset(at: range.lowerBound), changes: changes(in: range.lowerBound + 1..<range.upperBound))
  }

  /// The first instant at which clocks have reached a wall time: of one that they show twice the first, of one that they
  /// skip the instant at which they skip it.
  public func instant(ofWall wall: Int) -> Int {
    // No clock is so far from UTC: TZif allows 26 hours.
    let window = 27 * 3600
    var offset = offset(at: wall - window)
    for change in changes(in: wall - window + 1..<wall + window) {
      if wall - offset < change.at { return wall - offset }
      if wall - change.offset < change.at { return change.at }
      offset = change.offset
    }
    return wall - offset
  }

  /// What clocks show at an instant.
  public func wall(at instant: Int) -> Int { instant + offset(at: instant) }
}
