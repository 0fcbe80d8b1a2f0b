@testable import CampaignStore
import APNs
import LedgerModel
import PushCore
import Redis

/// Comparison of both stores as text, and writing the model's state to the real store.
extension TraceReplayer {
  private static let names = ["none", "expanding", "sealed", "done", "cancelled"]
  private static let numbers = [
    "count", "granted", "doubt", "waiting", "seq", "replays", "deaths", "resent", "16", "17", "22", "24", "25",
    "28",
  ]

  private func claimText(_ claim: Int, _ slice: Int) -> String {
    var copy = self
    return claim == 0 ? "" : String(decoding: copy.ledger(claim, slice).claim, as: UTF8.self)
  }

  private func values(_ slice: SliceState) -> [Int] {
    [
      slice.count, slice.granted, slice.doubt, slice.waiting, slice.seq, slice.replays, slice.deaths, slice.resent,
    ] + Ending.allCases.map { Int(slice.tally[$0.place]) }
  }

  /// State, attempt and, for a target without an outcome of its own, its history and status.
  private func ledgerBytes(_ slice: SliceState) -> [UInt8] {
    (0..<slice.count).flatMap { index in
      let record = Self.record(slice, index)
      return [record[0], record[1], slice.state[index] < 16 ? record[5] : 0, record[3]]
    }
  }

  private static func record(_ slice: SliceState, _ index: Int) -> [UInt8] {
    let history = AttemptHistory(isAmbiguous: slice.ambiguous.contains(index))
    var bytes: [UInt8] = []
    LedgerRecord(
      state: LedgerRecord.State(code: slice.state[index]) ?? .granted, attempt: slice.attempt[index], history: history
    ).write(to: &bytes)
    return bytes
  }

  /// Returns the users with one of these outcomes that a campaign to this campaign's recipients reaches, according to
  /// the script.
  func reached(_ number: Int, _ endings: [Ending]) async throws -> [String] {
    let keys = test.keys
    return try await test.redis.script(
      StoreScripts.reached,
      keys: [keys.targets(number, Self.id), keys.ledger(number, Self.id), keys.slice(number, of: Self.id)]
    ) {
      $0.append(0)
      $0.append(8)
      $0.append(TargetPage.size)
      $0.append(LedgerRecord.size)
      for ending in endings { $0.append(Int(ending.rawValue)) }
    }.get()[1].compactMap(\.string)
  }

  /// Returns the same users, as the model derives them.
  func expectedReached(_ number: Int, _ endings: [Ending]) -> [String] {
    let slice = model.slices[number]
    guard slice.seal != 0 else { return [] }
    return (0..<slice.count).filter { slice.ending(of: $0).map(endings.contains) ?? false }
      .map { Self.user(number, slice.order[$0]) }
  }

  func expected(_ number: Int) -> String {
    let slice = model.slices[number]
    let targets = slice.phase == .sealed ? (0..<slice.count).flatMap { Self.target(number, slice.order[$0]) } : []
    let departed = slice.phase == .sealed ? "\(slice.departed)" : ""
    return describe(
      Self.names[Int(slice.phase.rawValue)], claimText(slice.claim, number), claimText(slice.seal, number),
      values(slice), ledgerBytes(slice), Array(slice.retry).map(String.init), targets,
      "\(departed) of \(slice.departures) without \(Array(slice.gone))")
  }

  func stored(_ number: Int) async throws -> String {
    let (numbers, text) = try await test.slice(Self.id, number)
    let count = numbers["count"] ?? 0
    var bytes: [UInt8] = []
    if count > 0 {
      let reply = try await test.command("GETRANGE", test.keys.ledger(number, Self.id), 0, count * 12 - 1)
      let whole = Array(reply.bytes ?? []) + Array(repeating: 0, count: count * 12)
      for record in stride(from: 0, to: count * 12, by: 12) {
        let history = whole[record] < 16 ? whole[record + 5] : 0
        bytes += [whole[record], whole[record + 1], history, whole[record] < 16 ? whole[record + 3] : 0]
      }
    }
    let retry = try await test.command("ZRANGE", test.keys.retry(number, Self.id), 0, -1)
    var targets: [UInt8] = []
    if text["phase"] == "sealed" {
      let reply = try await test.command("LRANGE", test.keys.targets(number, Self.id), 0, -1)
      targets = reply.flatMap { Array($0.bytes ?? []) }
    }
    let departures = try await test.command("GETRANGE", test.keys.departures(number), 0, 5).bytes ?? []
    var gone: [Int] = []
    for target in 0..<self.targets {
      let user = Self.user(number, UInt8(target))
      if try await test.command("HEXISTS", test.keys.devices(number), user).integer == 0 { gone.append(target) }
    }
    return describe(
      text["phase"] ?? "none", text["claim"] ?? "", text["seal"] ?? "", Self.numbers.map { numbers[$0] ?? 0 }, bytes,
      retry.compactMap(\.string).sorted(), targets,
      "\(text["departed"] ?? "") of \(departures.reduce(0) { $0 << 8 | Int($1) }) without \(gone)")
  }

  private func describe(
    _ phase: String, _ claim: String, _ seal: String, _ numbers: [Int], _ ledger: [UInt8], _ retry: [String],
    _ targets: [UInt8], _ departures: String
  ) -> String {
    let counters = zip(Self.numbers, numbers).map { "\($0) \($1)" }.joined(separator: " ")
    return "\(phase) claim \(claim) seal \(seal) \(counters) ledger \(ledger) retry \(retry) targets \(targets) "
      + "departed \(departures)"
  }

  /// The model has no failed state. A campaign has failed if pushes failed, and none was or may have been accepted.
  private static func state(_ control: ControlState) -> String {
    let state = ["", "active", "paused", "cancelled", "completed"][Int(control.state.rawValue)]
    let hasArrived = control.tally[Ending.accepted.place] + control.tally[Ending.unknown.place] > 0
    return state == "completed" && control.tally[Ending.failed.place] > 0 && !hasArrived ? "failed" : state
  }

  func expectedControl() -> String {
    let control = model.control
    let state = Self.state(control)
    return describe(
      state, control.counted, Ending.allCases.map { Int(control.tally[$0.place]) }, control.isOnLane,
      control.open.array, (0..<4).map { control.processing[$0].array }, Array(control.parked),
      (0..<slices).filter { control.finished.contains($0) })
  }

  func storedControl() async throws -> String {
    let keys = test.keys
    let hash = try await test.command("HGETALL", keys.campaign(Self.id))
    var fields: [String: String] = [:]
    for index in stride(from: 0, to: hash.count - 1, by: 2) {
      fields[hash[index].string ?? ""] = hash[index + 1].string
    }
    let open = try await test.command("LRANGE", keys.open(Self.id), 0, -1)
    var processing: [[Int]] = []
    for name in 0..<4 {
      processing.append(try await test.store.slices.processing(of: Self.worker(name)).map(\.partition))
    }
    let parked = try await test.command("ZRANGE", keys.parked, 0, -1)
    let lane = try await test.command("LRANGE", keys.lane("normal"), 0, -1)
    var finished: [Int] = []
    for slice in 0..<slices where try await test.command("GETBIT", keys.finished(Self.id), slice).integer == 1 {
      finished.append(slice)
    }
    return describe(
      fields["state"] ?? "", Int(fields["finished"] ?? "") ?? 0,
      Ending.allCases.map { Int(fields[String($0.rawValue)] ?? "") ?? 0 }, lane.count > 0,
      open.compactMap(\.integer), processing,
      parked.compactMap { $0.string.flatMap { SliceReference($0, partitions: keys.partitions)?.partition } }.sorted(),
      finished)
  }

  private func describe(
    _ state: String, _ counted: Int, _ totals: [Int], _ isOnLane: Bool, _ open: [Int], _ processing: [[Int]],
    _ parked: [Int], _ finished: [Int]
  ) -> String {
    "\(state) counted \(counted) totals \(totals) lane \(isOnLane) open \(open) processing \(processing) parked \(parked) "
      + "finished \(finished)"
  }

  /// Writes the model's state to the real store, as the state of a Redis that has lost writes.
  mutating func load(now: Int) async throws {
    for number in 0..<slices { try await load(slice: number, now: now) }
    let (keys, control) = (test.keys, model.control)
    try await test.command("DEL", keys.open(Self.id), keys.lane("normal"), keys.parked, keys.finished(Self.id))
    try await test.command("DEL", keys.workers)
    for name in control.workers {
      try await test.command("ZADD", keys.workers, try await test.store.time() / 1000, Self.worker(name))
    }
    for name in 0..<4 {
      try await test.command("DEL", keys.processing(worker: Self.worker(name)))
      for slice in control.processing[name].array {
        try await test.command("RPUSH", keys.processing(worker: Self.worker(name)), "\(slice):\(Self.id)")
      }
    }
    guard control.state != .absent else {
      try await test.command("DEL", keys.campaign(Self.id), keys.job(Self.id), keys.running, keys.ended)
      return
    }
    let state = Self.state(control)
    try await test.command("HSET", keys.campaign(Self.id), "state", state, "finished", control.counted)
    try await test.command("HSET", keys.campaign(Self.id), "targets", Int(control.tally[SliceState.targetsPlace]))
    for ending in Ending.allCases {
      let count = Int(control.tally[ending.place])
      try await test.command("HSET", keys.campaign(Self.id), String(ending.rawValue), count)
    }
    if control.isRunning { try await test.command("SADD", keys.running, Self.id) }
    if control.isOnLane { try await test.command("RPUSH", keys.lane("normal"), Self.id) }
    for slice in control.open.array { try await test.command("RPUSH", keys.open(Self.id), slice) }
    for slice in control.parked {
      try await test.command("ZADD", keys.parked, Int(control.due[slice]), "\(slice):\(Self.id)")
    }
    for slice in control.finished { try await test.command("SETBIT", keys.finished(Self.id), slice, 1) }
  }

  static let registeredAt: UInt64 = 1000

  /// Gives a device to every user of a slice who has not departed.
  func loadUsers(of number: Int) async throws {
    let (keys, slice) = (test.keys, model.slices[number])
    try await test.command("DEL", keys.devices(number), keys.departures(number))
    for target in 0..<UInt8(targets) where !slice.gone.contains(Int(target)) {
      var device = DeviceRecord(token: Self.token(number, target), service: TestStore.service.name)
      device.app = "news"
      device.registeredAt = Self.registeredAt
      var record: [UInt8] = []
      try device.write(to: &record)
      try await test.command("HSET", keys.devices(number), Self.user(number, target), record)
    }
    guard slice.departures > 0 else { return }
    func bytes(_ value: Int, _ count: Int) -> [UInt8] {
      (0..<count).map { UInt8(truncatingIfNeeded: value >> (8 * (count - 1 - $0))) }
    }
    try await test.command("SETRANGE", keys.departures(number), 0, bytes(slice.departures, 6))
    for target in slice.gone {
      let place = 6 + (Int(slice.departedAt[target]) - 1) * 4
      let print = bytes(Int(Self.fingerprint(number, UInt8(target))), 4)
      try await test.command("SETRANGE", keys.departures(number), place, print)
    }
  }

  private mutating func load(slice number: Int, now: Int) async throws {
    try await loadUsers(of: number)
    let (keys, slice) = (test.keys, model.slices[number])
    let key = keys.slice(number, of: Self.id)
    let building = keys.building(number, Self.id, claim: claimText(slice.claim, number))
    try await test.command("DEL", key, building, keys.targets(number, Self.id))
    try await test.command("DEL", keys.ledger(number, Self.id), keys.retry(number, Self.id))
    guard slice.phase != .none else { return }
    try await test.command("HSET", key, "phase", Self.names[Int(slice.phase.rawValue)], "app", "news")
    if slice.claim != 0 {
      let lease = slice.lease <= now ? 1 : try await test.store.time() / 1000 + 3_600_000
      try await test.command("HSET", key, "claim", claimText(slice.claim, number), "lease", lease)
      try await test.command("HSET", key, "owner", Self.worker(slice.owner))
    }
    if slice.seal != 0 {
      try await test.command(
        "HSET", key, "seal", claimText(slice.seal, number), "format", TargetPage.formatVersion)
    }
    if slice.phase == .sealed { try await test.command("HSET", key, "departed", slice.departed) }
    for (field, value) in zip(Self.numbers, values(slice)) where value != 0 {
      try await test.command("HSET", key, field, value)
    }
    if slice.phase == .expanding, slice.claim != 0 {
      try await test.command("RPUSH", building, "")
      // The next owner claims again and builds another list.
      let page = (0..<min(slice.built, 8)).flatMap { Self.target(number, slice.building[$0]) }
      if !page.isEmpty { try await test.command("RPUSH", building, page) }
    }
    let page = (0..<slice.count).flatMap { Self.target(number, slice.order[$0]) }
    if !page.isEmpty { try await test.command("RPUSH", keys.targets(number, Self.id), page) }
    for index in 0..<slice.count {
      let record = Self.record(slice, index)
      if record.contains(where: { $0 != 0 }) {
        try await test.command("SETRANGE", keys.ledger(number, Self.id), index * 12, record)
      }
    }
    for index in slice.retry {
      let due = slice.due[index] <= now ? Int(slice.due[index]) : try await test.store.time() / 1000 + 3_600_000
      try await test.command("ZADD", keys.retry(number, Self.id), due, index)
    }
  }
}
