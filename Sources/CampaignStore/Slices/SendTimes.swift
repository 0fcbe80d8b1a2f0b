/// When the targets of a slice may be sent, where that differs. They stand in the order of their times, so this has a
/// step for each time and not one for each target; `commit.lua` grants none beyond the step whose time has come.
///
/// As stored: u32 number of steps; for each its first target u32, when they are due u48 (ms since the epoch, 0 for at
/// once), their zone u16 (0xFFFF: it doesn't matter), u8 1 for those that get nothing; then u16 number of zones, for each
/// u8 length and name. Of zones whose clocks show the same for a year one stands for all.
public struct SendTimes: Sendable, Equatable {
  /// Targets with one time.
  public struct Step: Sendable, Equatable {
    /// The first of them; they end where the next step begins.
    public var first: Int
    /// ms since the epoch; 0 for at once.
    public var due: Int
    /// The position of their zone's name; `nil` where it doesn't matter.
    public var zone: Int?
    /// Whether they get nothing: their outcome is `expired`.
    public var isDropped: Bool

    /// Memberwise.
    public init(first: Int, due: Int, zone: Int? = nil, isDropped: Bool = false) {
      self.first = first
      self.due = due
      self.zone = zone
      self.isDropped = isDropped
    }
  }

  /// In their order; the first begins with target 0.
  public private(set) var steps: [Step]
  /// Names of zones.
  public private(set) var zones: [String]

  /// Bytes of a step.
  private static let stepSize = 13
  /// Bytes before the first step.
  private static let header = 4
  private static let noZone = 0xFFFF
  /// Bytes at most of what is stored: each target of the largest slice at a time of its own is beyond it, but no time is
  /// finer than a minute, and all clocks of the world are within 26 hours of each other.
  static let largest = 4 << 20

  /// Memberwise; at least one step.
  public init(steps: [Step], zones: [String]) {
    self.steps = steps
    self.zones = zones
  }

  /// The step that a target is in.
  public func step(of index: Int) -> Step {
    var (low, high) = (0, steps.count - 1)
    while low < high {
      let middle = (low + high + 1) / 2
      if steps[middle].first <= index { low = middle } else { high = middle - 1 }
    }
    return steps[low]
  }

  /// The first target of the step behind a target's; `nil` behind the last.
  public func next(after index: Int) -> Int? {
    let step = step(of: index)
    return steps.first { $0.first > step.first }?.first
  }

  /// How many targets there are before those whose time has yet to come; `nil` when it has come for all.
  ///
  /// - Parameter now: ms since the epoch.
  public func ready(at now: Int) -> Int? { steps.first { $0.due > now }?.first }

  /// As stored.
  var bytes: [UInt8] {
    var bytes: [UInt8] = []
    bytes.reserveCapacity(Self.header + steps.count * Self.stepSize + zones.count * 24)
    func append(_ value: Int, size: Int) {
      for shift in stride(from: (size - 1) * 8, through: 0, by: -8) {
        bytes.append(UInt8(truncatingIfNeeded: value >> shift))
      }
    }
    append(steps.count, size: 4)
    for step in steps {
      append(step.first, size: 4)
      append(step.due, size: 6)
      append(step.zone ?? Self.noZone, size: 2)
      append(step.isDropped ? 1 : 0, size: 1)
    }
    append(zones.count, size: 2)
    for zone in zones { bytes.append(name: zone) }
    return bytes
  }

  /// - Returns: `nil` for bytes that nothing of ours has written.
  init?(_ bytes: ArraySlice<UInt8>) {
    var rest = bytes
    func take(_ size: Int) -> Int? {
      guard rest.count >= size else { return nil }
      defer { rest = rest.dropFirst(size) }
      return rest.prefix(size).reduce(0) { $0 << 8 | Int($1) }
    }
    guard bytes.count <= Self.largest, let count = take(4), count > 0, count * Self.stepSize <= rest.count else {
      return nil
    }
    steps = []
    steps.reserveCapacity(count)
    for _ in 0..<count {
      guard let first = take(4), let due = take(6), let zone = take(2), let flag = take(1), flag <= 1,
        steps.last.map({ $0.first < first && $0.due <= due }) ?? (first == 0)
      else { return nil }
      steps.append(Step(first: first, due: due, zone: zone == Self.noZone ? nil : zone, isDropped: flag == 1))
    }
    guard let zoneCount = take(2) else { return nil }
    zones = []
    for _ in 0..<zoneCount {
      guard let length = take(1), length <= rest.count else { return nil }
      zones.append(String(decoding: rest.prefix(length), as: UTF8.self))
      rest = rest.dropFirst(length)
    }
    let zones = zones.count
    guard rest.isEmpty, steps.allSatisfy({ $0.zone ?? -1 < zones }) else { return nil }
  }
}
