/// Rules of a time zone: its offsets from UTC and the instants at which they change.
///
/// A *wall time* is the time that a clock shows. A wall time is stored as the number of seconds since 1970 at which UTC
/// shows the same time.
public struct ZoneRules: Sendable, Equatable {
  /// Change of the offset: from the instant `at`, in UNIX seconds, clocks are ahead of UTC by `offset` seconds.
  public struct Change: Sendable, Hashable {
    public var at: Int
    public var offset: Int

    /// Creates an instance with these values.
    public init(at: Int, offset: Int) {
      self.at = at
      self.offset = offset
    }
  }

  /// Behaviour of a zone's clocks in a period. Clocks of two zones with equal behaviour show the same times in the
  /// period.
  public struct Behaviour: Sendable, Hashable {
    /// Offset at the beginning of the period.
    public var offset: Int
    /// Changes within the period, in their order.
    public var changes: [Change]
  }

  /// Offset before the first change, in seconds.
  let first: Int
  /// Changes in the order of time. Each of them changes the offset.
  let changes: [Change]
  /// Rules after the last change; `nil` if the offset never changes again.
  let future: YearlyRules?

  /// - Parameters:
  ///   - first: the offset before the first change.
  ///   - changes: the changes in their order.
  ///   - future: the rules after the last change; `nil` if the offset never changes again.
  init(first: Int, changes: [Change], future: YearlyRules?) {
    self.first = first
    self.changes = changes
    self.future = future
  }

  /// Rules of clocks that always show UTC.
  public static let utc = fixed(offset: 0)

  /// Returns the rules of clocks with a fixed offset from UTC, in seconds.
  public static func fixed(offset: Int) -> ZoneRules { ZoneRules(first: offset, changes: [], future: nil) }

  /// Returns the offset from UTC at an instant, both in seconds.
  public func offset(at instant: Int) -> Int {
    guard let last = changes.last else { return future?.offset(at: instant) ?? first }
    if instant >= last.at { return future?.offset(at: instant) ?? last.offset }
    // Binary search for the first change after the instant.
    var (low, high) = (0, changes.count)
    while low < high {
      let middle = (low + high) / 2
      if changes[middle].at <= instant { low = middle + 1 } else { high = middle }
    }
    return low == 0 ? first : changes[low - 1].offset
  }

  /// Returns the changes in a period, in their order.
  public func changes(in range: Range<Int>) -> [Change] {
    var found = changes.filter { range.contains($0.at) }
    if let future {
      let from = max(range.lowerBound, changes.last.map { $0.at + 1 } ?? .min)
      if from < range.upperBound { found += future.changes(in: from..<range.upperBound) }
    }
    return found
  }

  /// Returns the behaviour of the clocks in a period.
  public func behaviour(in range: Range<Int>) -> Behaviour {
    Behaviour(offset: offset(at: range.lowerBound), changes: changes(in: range.lowerBound + 1..<range.upperBound))
  }

  /// Returns the first instant at which clocks have reached a wall time. If clocks show the wall time twice, returns
  /// the first occurrence. If clocks skip it, returns the instant of the skip.
  public func instant(ofWall wall: Int) -> Int {
    // The offset of every zone is less than 27 hours: TZif allows at most 26 hours.
    let window = 27 * 3600
    var offset = offset(at: wall - window)
    for change in changes(in: wall - window + 1..<wall + window) {
      if wall - offset < change.at { return wall - offset }
      if wall - change.offset < change.at { return change.at }
      offset = change.offset
    }
    return wall - offset
  }

  /// Returns the wall time at an instant.
  public func wall(at instant: Int) -> Int { instant + offset(at: instant) }
}
