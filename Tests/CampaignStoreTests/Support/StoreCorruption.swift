@testable import CampaignStore
import PushCore
import Redis
import Testing

/// One corruption of a store, and the finding of the check.
struct StoreCorruption: Sendable, CustomTestStringConvertible {
  let name: String
  let kind: StoreFinding.Kind
  /// Whether only a person can repair it.
  var isOpen = false
  let damage: @Sendable (CheckScene) async throws -> Void
  /// Condition that holds after the repair.
  var isWhole: @Sendable (CheckScene) async throws -> Bool = { _ in true }

  var testDescription: String { name }

  static let all = ofUsers + ofTokens + ofSegments + ofCampaigns + ofParts + ofSlices + ofKeys

  private static let ofUsers = [
    StoreCorruption(name: "listed without devices", kind: .userWithoutDevices) { scene in
      _ = try await scene.command("SADD", scene.keys.users(scene.partition(of: "x")), "x")
    },
    StoreCorruption(name: "not listed", kind: .userNotListed) { scene in
      _ = try await scene.command("SREM", scene.keys.users(scene.partition(of: scene.user)), scene.user)
    } isWhole: { scene in
      try await scene.command("SISMEMBER", scene.keys.users(scene.partition(of: scene.user)), scene.user).integer == 1
    },
    StoreCorruption(name: "attributes without a device", kind: .attributesWithoutDevices) { scene in
      _ = try await scene.command("HSET", scene.keys.attributes(scene.partition(of: "x")), "x", "{}")
    },
    StoreCorruption(name: "counters without a device", kind: .capCountersWithoutDevices) { scene in
      let record = UserPressure.record(app: "news", badge: 3, times: [])
      _ = try await scene.command("HSET", scene.keys.pressure(scene.partition(of: "x")), "x", record)
    },
    StoreCorruption(name: "record that can't be read", kind: .unreadableRecord, isOpen: true) { scene in
      let key = scene.keys.devices(scene.partition(of: scene.user))
      let record = Array(try await scene.command("HGET", key, scene.user).bytes ?? [])
      _ = try await scene.command("HSET", key, scene.user, record + [0, 0, 1])
    },
    StoreCorruption(name: "user elsewhere", kind: .misplacedUser) { scene in
      let (from, to) = (scene.partition(of: "u0"), scene.strange(to: "u0"))
      for (old, new) in [
        (scene.keys.devices(from), scene.keys.devices(to)), (scene.keys.attributes(from), scene.keys.attributes(to)),
      ] {
        let value = Array(try await scene.command("HGET", old, "u0").bytes ?? [])
        _ = try await scene.command("HSET", new, "u0", value)
        _ = try await scene.command("HDEL", old, "u0")
      }
      _ = try await scene.command("SREM", scene.keys.users(from), "u0")
      _ = try await scene.command("SADD", scene.keys.users(to), "u0")
    } isWhole: { scene in
      let user = try await scene.store.registry.user("u0")
      return user?.devices == [TestStore.device(0)] && user?.attributes == Array(#"{"name":"Ada"}"#.utf8)
    },
    StoreCorruption(name: "quarantined without a note", kind: .quarantinedWithoutReason) { scene in
      let key = scene.keys.quarantine(scene.slice.partition)
      _ = try await scene.command("HDEL", key, TestStore.token(scene.quarantined))
    } isWhole: { scene in
      let token = try TestStore.deviceToken(scene.quarantined)
      let device = try await scene.store.results.quarantined([token], of: TestStore.service)[0]
      return device?.user == scene.users[2] && device?.reason == "found by store check" && device?.service == "apns"
    },
    StoreCorruption(name: "user under an id of an older version", kind: .unnormalizedUser) { scene in
      try await scene.store.registry.register([DeviceRegistration(user: " x", device: TestStore.device(998))])
    } isWhole: { scene in
      let (old, user) = try await (scene.store.registry.user(" x"), scene.store.registry.user("x"))
      return old == nil && user?.devices == [TestStore.device(998)]
    },
    StoreCorruption(name: "note of no device", kind: .reasonWithoutDevice) { scene in
      let key = scene.keys.quarantine(scene.slice.partition)
      let note = Array(try await scene.command("HGET", key, TestStore.token(scene.quarantined)).bytes ?? [])
      _ = try await scene.command("HSET", key, TestStore.token(999), note)
    },
  ]

  private static let ofTokens = [
    StoreCorruption(name: "owner without the device", kind: .ownerWithoutDevice) { scene in
      _ = try await scene.command(
        "HSET", scene.keys.owner(scene.partition(ofToken: 999)), TestStore.token(999), "5:u0")
    },
    StoreCorruption(name: "device without an owner", kind: .deviceWithoutOwner) { scene in
      _ = try await scene.command(
        "HDEL", scene.keys.owner(scene.partition(ofToken: scene.token)), TestStore.token(scene.token))
    } isWhole: { scene in
      try await scene.store.registry.owners(of: [TestStore.deviceToken(scene.token)], TestStore.service) == [scene.user]
    },
    StoreCorruption(name: "device of two", kind: .deviceWithTwoOwners) { scene in
      let record = Array(
        try await scene.command("HGET", scene.keys.devices(scene.partition(of: scene.user)), scene.user).bytes ?? [])
      _ = try await scene.command("HSET", scene.keys.devices(scene.partition(of: "x")), "x", record)
      _ = try await scene.command("SADD", scene.keys.users(scene.partition(of: "x")), "x")
    } isWhole: { scene in
      let (stranger, user) = try await (scene.store.registry.user("x"), scene.store.registry.user(scene.user))
      return stranger == nil && user?.devices.count == 1
    },
    StoreCorruption(name: "owner elsewhere", kind: .misplacedOwner) { scene in
      let key = scene.keys.owner((scene.partition(ofToken: scene.token) + 1) % scene.keys.partitions)
      _ = try await scene.command("HSET", key, TestStore.token(scene.token), "1000:\(scene.user)")
    },
    StoreCorruption(name: "owner that can't be read", kind: .unreadableOwner, isOpen: true) { scene in
      _ = try await scene.command("HSET", scene.keys.owner(1), TestStore.token(999), "nonsense")
    },
    StoreCorruption(name: "registration that did not end", kind: .unfinishedRegistration) { scene in
      let registration = DeviceRegistration(user: "x", device: TestStore.device(scene.token, registeredAt: 2000))
      _ = try await scene.store.registry.bind(scene.world.batch([registration]))
    } isWhole: { scene in
      let (mover, user) = try await (scene.store.registry.user("x"), scene.store.registry.user(scene.user))
      return mover?.devices.count == 1 && user == nil
    },
  ]

  private static let ofSegments = [
    StoreCorruption(name: "member elsewhere", kind: .misplacedMember) { scene in
      _ = try await scene.command("SADD", scene.keys.segment(scene.strange(to: "u30"), "vip"), "u30")
    } isWhole: { scene in
      try await scene.store.audiences.lists(of: "u30").segments == ["vip"]
    },
    StoreCorruption(name: "member under an id of an older version", kind: .unnormalizedMember) { scene in
      let user = " " + scene.user
      _ = try await scene.command("SADD", scene.keys.segment(scene.partition(of: user), "vip"), user)
      _ = try await scene.store.audiences.remove([scene.user], from: "vip")
      _ = try await scene.command("ZREM", scene.keys.stated(scene.partition(of: scene.user), "vip"), scene.user)
    } isWhole: { scene in
      try await scene.store.audiences.lists(of: scene.user).segments == ["vip"]
    },
    StoreCorruption(name: "member with an invisible character", kind: .unusableID, isOpen: true) { scene in
      let user = "\u{200B}u1"
      _ = try await scene.command("SADD", scene.keys.segment(scene.partition(of: user), "vip"), user)
    },
    StoreCorruption(name: "segment that is not listed", kind: .unlistedSegment, isOpen: true) { scene in
      _ = try await scene.command("SREM", scene.keys.segments, "vip")
    },
    StoreCorruption(name: "definition that can't be read", kind: .unreadableDefinition, isOpen: true) { scene in
      _ = try await scene.command("HSET", scene.keys.definitions, "ghost", #"{"expression":"a &"#)
    },
  ]

  private static let ofCampaigns = [
    StoreCorruption(name: "ended, and running", kind: .wrongList) { scene in
      _ = try await scene.command("SADD", scene.keys.running, "done")
    },
    StoreCorruption(name: "running, and scheduled", kind: .wrongList) { scene in
      _ = try await scene.command("ZADD", scene.keys.schedule, 1, "run")
    },
    StoreCorruption(name: "paused, and on its lane", kind: .wrongList) { scene in
      _ = try await scene.command("RPUSH", scene.keys.lane("urgent"), "paused")
    },
    StoreCorruption(name: "on another's lane", kind: .wrongList) { scene in
      _ = try await scene.command("RPUSH", scene.keys.lane("urgent"), "run")
    },
    StoreCorruption(name: "gone, and listed", kind: .wrongList) { scene in
      _ = try await scene.command("ZADD", scene.keys.all, 1, "ghost")
    },
    StoreCorruption(name: "not among all", kind: .missingFromList) { scene in
      _ = try await scene.command("ZREM", scene.keys.all, "run")
    },
    StoreCorruption(name: "not among those that run", kind: .missingFromList) { scene in
      _ = try await scene.command("SREM", scene.keys.running, "run")
    },
    StoreCorruption(name: "not on its lane", kind: .missingFromList) { scene in
      _ = try await scene.command("LREM", scene.keys.lane("normal"), 0, "run")
    } isWhole: { scene in
      try await scene.store.slices.dequeueSlice(worker: "w")?.campaign == "run"
    },
    StoreCorruption(name: "not in the schedule", kind: .missingFromList) { scene in
      _ = try await scene.command("ZREM", scene.keys.schedule, "later")
    } isWhole: { scene in
      let due = try await scene.command("ZSCORE", scene.keys.schedule, "later").integer ?? 0
      return try await due > scene.store.time() / 1000 + 80_000_000
    },
    StoreCorruption(name: "ended, and kept for ever", kind: .missingFromList) { scene in
      _ = try await scene.command("PERSIST", scene.keys.campaign("done"))
    } isWhole: { scene in
      try await scene.command("ZSCORE", scene.keys.ended, "done").integer != nil
    },
    StoreCorruption(name: "slice in no list", kind: .lostSlice) { scene in
      _ = try await scene.command("LPOP", scene.keys.open("run"))
    } isWhole: { scene in
      try await scene.world.openSlices("run").count == 2
    },
    StoreCorruption(name: "worker that is not listed", kind: .unlistedWorker) { scene in
      _ = try await scene.command("RPUSH", scene.keys.intake(worker: "ghost"), "{}")
    } isWhole: { scene in
      try await scene.store.fleet.workers().contains("ghost")
    },
    StoreCorruption(name: "campaign with nonsense", kind: .damagedCampaign, isOpen: true) { scene in
      _ = try await scene.command("HSET", scene.keys.campaign("paused"), "finished", "many")
    },
    StoreCorruption(name: "campaign without a state", kind: .damagedCampaign, isOpen: true) { scene in
      _ = try await scene.command("HDEL", scene.keys.campaign("paused"), "state")
    },
    StoreCorruption(name: "outcomes without a target", kind: .wrongTotals, isOpen: true) { scene in
      _ = try await scene.command("HINCRBY", scene.keys.campaign("done"), "17", 1)
    },
    StoreCorruption(name: "slice that was not counted", kind: .wrongTotals, isOpen: true) { scene in
      _ = try await scene.command("SETBIT", scene.keys.finished("paused"), scene.partition(of: "u1"), 1)
    },
  ]

  /// Adds an active campaign with the parts `1` and `rest`.
  private static func story(_ scene: CheckScene, _ id: String = "story") async throws {
    try await scene.world.activate(id, #","stages":[{"share":0.5}]"#)
  }

  private static let ofParts = [
    StoreCorruption(name: "part that does not name its campaign", kind: .partWithoutCampaign) { scene in
      try await story(scene)
      _ = try await scene.command("HDEL", scene.keys.campaign("story~rest"), "of")
    } isWhole: { scene in
      try await scene.command("HGET", scene.keys.campaign("story~rest"), "of").string == "story"
    },
    StoreCorruption(name: "part that its campaign does not list", kind: .partWithoutCampaign, isOpen: true) { scene in
      try await story(scene)
      _ = try await scene.command("HSET", scene.keys.campaign("story"), "parts", "1")
    },
    StoreCorruption(name: "part that is gone", kind: .missingPart, isOpen: true) { scene in
      try await story(scene)
      _ = try await scene.command("DEL", scene.keys.campaign("story~rest"))
      _ = try await scene.command("ZREM", scene.keys.all, "story~rest")
    },
    StoreCorruption(name: "waiting part of a paused campaign", kind: .wrongPartState) { scene in
      try await story(scene, "halted")
      _ = try await scene.store.campaigns.control("halted", .pause, reason: "why not")
      _ = try await scene.command("HSET", scene.keys.campaign("halted~rest"), "state", "waiting")
    } isWhole: { scene in
      let story = try await scene.store.campaigns.find("halted")
      return story?.parts.map(\.state) == [.paused, .paused] && story?.reason == "why not"
    },
    StoreCorruption(name: "paused part of an active campaign", kind: .wrongPartState, isOpen: true) { scene in
      try await story(scene)
      _ = try await scene.command("HSET", scene.keys.campaign("story~rest"), "state", "paused")
    },
  ]

  private static let ofSlices = [
    StoreCorruption(name: "retry that was lost", kind: .lostRetry) { scene in
      _ = try await scene.command("ZREM", scene.keys.retry(scene.slice.partition, "run"), 3)
    } isWhole: { scene in
      try await scene.command("ZSCORE", scene.keys.retry(scene.slice.partition, "run"), 3).integer != nil
    },
    StoreCorruption(name: "retry of what has ended", kind: .retryWithoutTarget) { scene in
      _ = try await scene.command("ZADD", scene.keys.retry(scene.slice.partition, "run"), 1, 0)
    },
    StoreCorruption(name: "retry of no target", kind: .retryWithoutTarget) { scene in
      _ = try await scene.command("ZADD", scene.keys.retry(scene.slice.partition, "run"), 1, 4000)
    },
    StoreCorruption(name: "slice with nonsense", kind: .damagedSlice, isOpen: true) { scene in
      _ = try await scene.command("HSET", scene.keys.slice(scene.slice.partition, of: "run"), "doubt", -5)
    },
    StoreCorruption(name: "slice without its targets", kind: .damagedSlice, isOpen: true) { scene in
      _ = try await scene.command("DEL", scene.keys.targets(scene.slice.partition, "run"))
    },
    StoreCorruption(name: "outcome that no target has", kind: .wrongCounters, isOpen: true) { scene in
      _ = try await scene.command("HINCRBY", scene.keys.slice(scene.slice.partition, of: "run"), "17", 1)
    },
    StoreCorruption(name: "in doubt without a target", kind: .wrongCounters, isOpen: true) { scene in
      _ = try await scene.command("HINCRBY", scene.keys.slice(scene.slice.partition, of: "run"), "doubt", -1)
    },
    StoreCorruption(name: "ledger of an ended slice that is gone", kind: .wrongCounters, isOpen: true) { scene in
      _ = try await scene.command("DEL", scene.keys.ledger(scene.slice.partition, "done"))
    },
  ]

  private static let ofKeys = [
    StoreCorruption(name: "list of another type, which is made anew", kind: .wrongType) { scene in
      _ = try await scene.command("SET", scene.keys.waiting("paused"), "x", "EX", 60)
    } isWhole: { scene in
      try await scene.command("EXISTS", scene.keys.isolated(scene.keys.waiting("paused"))).integer == 1
    },
    StoreCorruption(name: "slice of another type", kind: .wrongType, isOpen: true) { scene in
      _ = try await scene.command("RPUSH", scene.keys.slice(1, of: "paused"), "x")
    },
    StoreCorruption(name: "partition's key of another type", kind: .wrongType, isOpen: true) { scene in
      _ = try await scene.command("DEL", scene.keys.owner(1))
      _ = try await scene.command("SET", scene.keys.owner(1), "x")
    },
    StoreCorruption(name: "key of a campaign that is gone", kind: .orphan) { scene in
      _ = try await scene.command("SADD", scene.keys.audience(0, "ghost"), "u1")
    } isWhole: { scene in
      try await scene.command("TTL", scene.keys.audience(0, "ghost")).integer ?? 0 > 0
    },
    StoreCorruption(name: "key that does not expire", kind: .neverExpires) { scene in
      _ = try await scene.command("PERSIST", scene.keys.importOf(file: "file"))
    } isWhole: { scene in
      try await scene.command("TTL", scene.keys.importOf(file: "file")).integer ?? 0 > 0
    },
    StoreCorruption(name: "key of no known kind", kind: .unknownKey, isOpen: true) { scene in
      _ = try await scene.command("SET", scene.keys.home(of: 1) + "something", "x")
    },
    StoreCorruption(name: "key of no partition", kind: .unknownKey, isOpen: true) { scene in
      _ = try await scene.command("SADD", scene.keys.users(scene.keys.partitions), "x")
    },
  ]
}
