/// Send times of the targets of a slice, for a slice whose targets have different send times.
///
/// The targets are sorted by send time. A *step* is a run of targets with the same send time, so the stored form needs
/// little space. `commit.lua` does not grant the targets of a step before their send time.
///
/// Stored form:
///
/// - u32 number of steps
/// - for each step: u32 first target, u48 due time (ms since the epoch, 0 for immediately), u16 zone (0xFFFF if the
///   zone doesn't matter), u8 1 if the targets of the step get no push, else 0
/// - u16 number of zones
/// - for each zone u8 length and name
///
/// Zones whose clocks show the same time for a year share one entry.
public struct SendTimes: Sendable, Equatable {
  /// Consecutive targets with the same send time.
  public struct Step: Sendable, Equatable {
    /// First target of the step. The step ends where the next step begins.
    public var first: Int
    /// Due time in ms since the epoch; 0 for immediately.
    public var due: Int
    /// Position of the zone in ``SendTimes/zones``; `nil` if the zone doesn't matter.
    public var zone: Int?
    /// Whether workers send no pushes to the targets of the step: their outcome is `expired`.
    public var isDropped: Bool

    /// Creates an instance with these values.
    public init(first: Int, due: Int, zone: Int? = nil, isDropped: Bool = false) {
      self.first = first
      self.due = due
      self.zone = zone
      self.isDropped = isDropped
    }
  }

  /// Steps in the order of their targets. The first step begins with target 0.
  public private(set) var steps: [Step]
  /// Names of the time zones of the steps.
  public private(set) var zones: [String]

  /// Size of a stored step in bytes.
  private static let stepSize = 13
  /// Bytes in front of the first step.
  private static let header = 4
  private static let noZone = 0xFFFF
  /// Largest stored size in bytes. A slice could exceed it only if each of its targets had a separate time. This can't
  /// happen, because times are whole minutes, and all clocks of the world are within 26 hours of each other.
  static let largest = 4 << 20

  /// Creates an instance. Requires at least one step.
  public init(steps: [Step], zones: [String]) {
    self.steps = steps
    self.zones = zones
  }

  /// Returns the step of a target.
  public func step(of index: Int) -> Step {
    var (low, high) = (0, steps.count - 1)
    while low < high {
      let middle = (low + high + 1) / 2
      if steps[middle].first <= index { low = middle } else { high = middle - 1 }
    }
    return steps[low]
  }

  /// Returns the first target of the step after a target's step; `nil` for the last step.
  public func next(after index: Int) -> Int? {
    let step = step(of: index)
    return steps.first { $0.first > step.first }?.first
  }

  /// Returns the number of targets before the first target whose send time has not come; `nil` if all send times have
  /// come.
  ///
  /// - Parameter now: ms since the epoch.
  public func ready(at now: Int) -> Int? { steps.first { $0.due > now }?.first }

  /// Stored form.
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

  /// Reads the stored form.
  ///
  /// - Returns: `nil` for bytes that Carillon did not write.
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
