import APNsSimulator
import CampaignStore
import PushCore
import TestSupport

/// A generated base of users and devices. The reference in plain Swift knows all of its data.
struct AudienceBase {
  struct Device {
    /// Identifies the token.
    var number: Int
    var locale: String
    var version: String
    var timezone: String
    /// Days since the app was seen on the device; `nil` for never. The values are half days, so that no condition on
    /// whole days is close.
    var daysUnseen: Double?
    /// Days since the device registered.
    var daysRegistered: Double
    /// Whether APNs reports the device as gone.
    var isGone: Bool
    /// Whether the device belongs to the second push service.
    var isOther = false

    /// Text of the token.
    var token: String { isOther ? "t:\(number)" : WorkerRig.text(number) }
  }

  struct Person {
    var user: String
    var devices: [Device]
    var plan: String?
    var age: Int?
    var tags: [String]
    var segments: Set<String>
    /// Whether the user has opted out of the app, or of its category `offers`.
    var refuses: (all: Bool, offers: Bool)
  }

  /// ms since the epoch; the time from which days are counted.
  let now: Int
  let people: [Person]

  static let segments = ["vip", "sports", "news", "churned"]
  private static let day = 86_400_000.0

  /// - Parameter services: 2 for a base in which a third of the devices belong to another push service.
  init(users: Int, services: Int, now: Int, seed: inout Seed) {
    self.now = now
    var number = 0
    people = (0..<users).map { index in
      let devices = (0..<[1, 1, 1, 2, 2, 3][Int.random(in: 0..<6, using: &seed)]).map { place -> Device in
        defer { number += 1 }
        // No two devices of one user were seen at the same time.
        let unseen =
          Double.random(in: 0...1, using: &seed) < 0.05 && place == 0
          ? nil : Double(Int.random(in: 0..<120, using: &seed)) + 0.5
        let isOther = services > 1 && Int.random(in: 0..<3, using: &seed) == 0
        return Device(
          number: number, locale: ["en", "en-GB", "de-DE", "fr", ""][Int.random(in: 0..<5, using: &seed)],
          version: ["4.9", "5.2", "5.10.1", "6.0-beta", ""][Int.random(in: 0..<5, using: &seed)],
          timezone: ["Europe/Berlin", "America/New_York", ""][Int.random(in: 0..<3, using: &seed)],
          daysUnseen: unseen.map { $0 + Double(place) * 0.01 + Double.random(in: 0..<0.009, using: &seed) },
          daysRegistered: 130.5 + Double(Int.random(in: 0..<300, using: &seed)),
          isGone: Int.random(in: 0..<20, using: &seed) == 0 && !isOther, isOther: isOther)
      }
      return Person(
        user: "user-\(index)", devices: devices,
        plan: [nil, "gold", "silver", "gold trial"][Int.random(in: 0..<4, using: &seed)],
        age: Int.random(in: 0..<4, using: &seed) == 0 ? nil : Int.random(in: 12...80, using: &seed),
        tags: ["a", "b", "c"].filter { _ in Bool.random(using: &seed) },
        segments: Set(Self.segments.filter { _ in Bool.random(using: &seed) }),
        refuses: (Int.random(in: 0..<25, using: &seed) == 0, Int.random(in: 0..<5, using: &seed) == 0))
    }
  }

  /// Returns the time `daysAgo` days ago, in ms since the epoch.
  func instant(_ daysAgo: Double) -> UInt64 { UInt64(Double(now) - daysAgo * Self.day) }

  /// Returns the time at which a device was seen, as the store has it. A device that was never seen has its
  /// registration time.
  func seenAt(_ device: Device) -> UInt64 { device.daysUnseen.map { instant($0) } ?? instant(device.daysRegistered) }

  /// Registers all users in a store, and their Apple devices at APNs.
  func register(in rig: WorkerRig) async throws {
    for start in stride(from: 0, to: people.count, by: 2000) {
      let page = people[start..<min(start + 2000, people.count)]
      try await rig.store.registry.register(
        page.flatMap { person in person.devices.map { registration($0, of: person) } })
      for segment in Self.segments {
        let members = page.filter { $0.segments.contains(segment) }.map(\.user)
        // Users who have never registered are also members of a segment.
        if !members.isEmpty { try await rig.store.audiences.add(members + ["ghost-\(start)"], to: segment) }
      }
      for (list, members) in [
        (SuppressionList(app: "news"), page.filter(\.refuses.all)),
        (SuppressionList(app: "news", category: "offers"), page.filter(\.refuses.offers)),
      ] where !members.isEmpty {
        try await rig.store.audiences.add(members.map(\.user), to: list.segment)
      }
    }
    rig.simulator.load(
      people.flatMap(\.devices).filter { !$0.isOther }.map {
        SimulatedDevice(
          token: WorkerRig.token($0.number), state: $0.isGone ? .unregistered : .registered, topic: WorkerRig.topic,
          // The time is before the last registration. So a gone device stays in the registry, and every campaign meets
          // it.
          timestamp: 1000)
      })
  }

  private func registration(_ device: Device, of person: Person) -> DeviceRegistration {
    var record = DeviceRecord(
      token: device.isOther ? Array(device.token.utf8) : WorkerRig.token(device.number),
      service: device.isOther ? "text" : "apns")
    record.app = "news"
    (record.locale, record.appVersion, record.timezone) = (device.locale, device.version, device.timezone)
    record.lastSeen = device.daysUnseen.map { instant($0) } ?? 0
    record.registeredAt = instant(device.daysRegistered)
    var json = JSONWriter()
    json.beginObject()
    if let plan = person.plan { json.member("plan", plan) }
    if let age = person.age { json.member("age", age) }
    json.name("tags")
    json.beginArray()
    for tag in person.tags { json.value(tag) }
    json.endArray()
    json.endObject()
    return DeviceRegistration(user: person.user, device: record, attributes: json.take())
  }
}

/// Returns the pseudorandom number of a user, computed independently: FNV-1a over salt, 0xFF and user, and the
/// finalizer of SplitMix64.
func drawn(_ user: String, _ salt: String) -> Double {
  let hash = (Array(salt.utf8) + [0xFF] + Array(user.utf8)).reduce(UInt64(14_695_981_039_346_656_037)) { hash, byte in
    (hash ^ UInt64(byte)).multipliedReportingOverflow(by: 1_099_511_628_211).partialValue
  }
  let first = (hash ^ (hash >> 30)).multipliedReportingOverflow(by: 13_787_848_793_156_543_929).partialValue
  let second = (first ^ (first >> 27)).multipliedReportingOverflow(by: 10_723_151_780_598_845_931).partialValue
  return Double((second ^ (second >> 31)) / 2048) / 9_007_199_254_740_992
}
