import PushCore

/// Sorts the targets of a slice by send time during the expansion. The targets stay in memory until all are known. This
/// costs little: the worker keeps the targets of a slice in memory anyway, for as long as Redis may lose them.
struct TargetSorter {
  /// Targets with the same send time. If the worker needs their zones for sending, the targets of a bucket also have
  /// the same zone.
  private struct Bucket {
    var slot: TargetTiming.Slot
    var zone: Int
    var bytes: [UInt8] = []
    /// Size of each target in bytes.
    var lengths: [UInt32] = []
  }

  private struct Key: Hashable {
    var slot: TargetTiming.Slot
    var zone: Int
  }

  /// Zone and time of day of a user. Users with the same zone and time of day have the same send time.
  private struct Clock: Hashable {
    var zone: Int
    var timeOfDay: Int?
  }

  private let timing: TargetTiming
  private let zones: ZoneDatabase
  private let now: Int
  /// Period in seconds since the epoch. Two zones that show the same times in this period count as one zone.
  private let horizon: Range<Int>
  /// Whether the worker needs a target's zone again when it sends the target.
  private let needsZone: Bool
  private var buckets: [Bucket] = []
  private var places: [Key: Int] = [:]
  private var clocks: [Clock: Int] = [:]
  private var numbers: [[UInt8]: Int] = [:]
  private var behaviours: [ZoneRules.Behaviour: Int] = [:]
  private var rules: [ZoneRules] = []
  private var names: [String] = []
  /// Zones of devices that the system does not know. These devices use the campaign's default zone.
  private var unknownZones: [String] = []
  /// Maximum number of unknown zones to report: enough to see the error, and few enough for a log line.
  private static let maximumUnknown = 5

  /// Creates a sorter without targets.
  ///
  /// - Parameters:
  ///   - zones: the zones that the system knows.
  ///   - now: ms since the epoch.
  init(_ timing: TargetTiming, _ zones: ZoneDatabase, now: Int) {
    self.timing = timing
    self.zones = zones
    self.now = now
    let local = timing.timing.localTime?.wall ?? 0
    let first = (local > 0 ? min(local, now / 1000) : now / 1000) - 2 * 86400
    horizon = first..<max(local, now / 1000) + 400 * 86400
    needsZone = timing.timing.quietHours != nil
  }

  /// Adds a target.
  ///
  /// - Parameters:
  ///   - place: the bucket of its send time.
  ///   - write: appends the target's bytes.
  mutating func add(at place: Int, _ write: (inout [UInt8]) -> Void) {
    let start = buckets[place].bytes.count
    write(&buckets[place].bytes)
    buckets[place].lengths.append(UInt32(buckets[place].bytes.count - start))
  }

  /// Writes the targets onto pages in the order of their send times.
  func finish(_ targets: inout SealedTargets) {
    targets.unknownZones = unknownZones
    let buckets = buckets.filter { !$0.lengths.isEmpty }
    guard !buckets.isEmpty else { return }
    var steps: [SendTimes.Step] = []
    targets.bytes.reserveCapacity(buckets.reduce(0) { $0 + $1.bytes.count })
    let order = buckets.sorted {
      ($0.slot.due, $0.slot.isDropped ? 0 : 1, $0.zone) < ($1.slot.due, $1.slot.isDropped ? 0 : 1, $1.zone)
    }
    for bucket in order {
      steps.append(
        SendTimes.Step(
          first: targets.count, due: bucket.slot.due, zone: bucket.zone < 0 ? nil : bucket.zone,
          isDropped: bucket.slot.isDropped))
      var end = targets.bytes.count
      targets.bytes.append(contentsOf: bucket.bytes)
      for length in bucket.lengths {
        end += Int(length)
        targets.count += 1
        if targets.count % TargetPage.size == 0 { targets.ends.append(end) }
      }
    }
    targets.times = SendTimes(steps: steps, zones: needsZone ? names : [])
  }

  /// Returns the bucket for targets of a device.
  ///
  /// - Parameters:
  ///   - name: the device's zone; empty if unknown.
  ///   - timeOfDay: the user's own time of day, in seconds after midnight; `nil` if the user has none.
  mutating func place(zone name: UnsafeRawBufferPointer, timeOfDay: Int?) -> Int {
    let zone = number(of: name)
    let clock = Clock(zone: zone, timeOfDay: timeOfDay)
    if let place = clocks[clock] { return place }
    let slot = timing.slot(in: rules[zone], timeOfDay: timeOfDay, now: now)
    let key = Key(slot: slot, zone: needsZone && !slot.isDropped ? zone : -1)
    let place = places[key] ?? buckets.count
    if place == buckets.count {
      buckets.append(Bucket(slot: slot, zone: key.zone))
      places[key] = place
    }
    clocks[clock] = place
    return place
  }

  /// Returns the number of a zone. Zones whose clocks show the same times share a number.
  private mutating func number(of name: UnsafeRawBufferPointer) -> Int {
    let bytes = Array(name)
    if let number = numbers[bytes] { return number }
    let text = String(decoding: bytes, as: UTF8.self)
    let known: (String, ZoneRules)
    if !text.isEmpty, let found = zones.rules(text) {
      known = (text, found)
    } else {
      if !text.isEmpty, unknownZones.count < Self.maximumUnknown { unknownZones.append(text) }
      let fallback = timing.timing.defaultZone
      // A worker expands no campaign whose default zone is unknown to it (`PushWorker+Slices`).
      known = (fallback, zones.rules(fallback) ?? .utc)
    }
    let behaviour = known.1.behaviour(in: horizon)
    let number = behaviours[behaviour] ?? rules.count
    if number == rules.count {
      behaviours[behaviour] = number
      names.append(known.0)
      rules.append(known.1)
    }
    numbers[bytes] = number
    return number
  }
}
