import PushCore

/// Puts the targets of a slice in the order of their times while it is expanded. They are kept until all are known: a slice
/// is one partition, and its worker keeps its targets anyhow for as long as Redis may lose them.
struct TargetSorter {
  /// Targets of one step.
  private struct Bucket {
    var slot: TargetTiming.Slot
    var zone: Int
    var bytes: [UInt8] = []
    /// Of each target.
    var lengths: [UInt32] = []
  }

  private struct Key: Hashable {
    var slot: TargetTiming.Slot
    var zone: Int
  }

  /// Whoever has the same zone and the same hour has the same time.
  private struct Clock: Hashable {
    var zone: Int
    var timeOfDay: Int?
  }

  private let timing: TargetTiming
  private let zones: ZoneDatabase
  private let now: Int
  /// The stretch of time in which zones must show the same to count as one.
  private let horizon: Range<Int>
  /// Whether a target's zone is needed again when it is sent.
  private let needsZone: Bool
  private var buckets: [Bucket] = []
  private var places: [Key: Int] = [:]
  private var clocks: [Clock: Int] = [:]
  private var numbers: [[UInt8]: Int] = [:]
  private var behaviours: [ZoneRules.Behaviour: Int] = [:]
  private var rules: [ZoneRules] = []
  private var names: [String] = []
  /// Zones of devices that the system does not know. Their devices go by the campaign's default zone.
  private var unknownZones: [String] = []
  /// The names that are remembered: enough to see what is wrong, and few enough for a log line.
  private static let mostUnknown = 5

  /// - Parameters:
  ///   - zones: what the system knows.
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
  ///   - place: of those with its time.
  ///   - write: writes it behind what is there.
  mutating func add(at place: Int, _ write: (inout [UInt8]) -> Void) {
    let start = buckets[place].bytes.count
    write(&buckets[place].bytes)
    buckets[place].lengths.append(UInt32(buckets[place].bytes.count - start))
  }

  /// Puts the targets onto pages, in their order.
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

  /// Where targets of a device belong.
  ///
  /// - Parameters:
  ///   - name: of the device's zone; nothing for one of which none is known.
  ///   - timeOfDay: the user's own hour, in seconds after midnight; `nil` for one who has none.
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

  /// The number of a zone: that of another one, if its clocks show the same.
  private mutating func number(of name: UnsafeRawBufferPointer) -> Int {
    let bytes = Array(name)
    if let number = numbers[bytes] { return number }
    let text = String(decoding: bytes, as: UTF8.self)
    let known: (String, ZoneRules)
    if !text.isEmpty, let found = zones.rules(text) {
      known = (text, found)
    } else {
      if !text.isEmpty, unknownZones.count < Self.mostUnknown { unknownZones.append(text) }
      let fallback = timing.timing.defaultZone
      // A worker expands no campaign whose default zone it does not know (`PushWorker+Slices`).
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
