public import PushCore
import Redis

/// Which of a user's devices a campaign may reach.
public struct DeviceFilter: Sendable {
  let app: [UInt8]
  let environment: [UInt8]

  /// - Parameters:
  ///   - app: devices of another app are left out; those that name none are in.
  ///   - environment: likewise.
  public init(app: String, environment: String) {
    self.app = Array(app.utf8)
    self.environment = Array(environment.utf8)
  }

  func admits(_ device: DeviceView) -> Bool {
    guard !device.isQuarantined else { return false }
    let app = device.name(0)
    guard app.isEmpty || app.elementsEqual(self.app) else { return false }
    let environment = device.name(1)
    return environment.isEmpty || environment.elementsEqual(self.environment)
  }
}

/// The targets that a worker has sealed, for as long as Redis may forget them.
public struct SealedTargets: Sendable {
  /// How many there are.
  public var count: Int { pages.reduce(0) { $0 + $1.count } }
  var pages: [EntryList] = []
}

/// From an audience to a slice's sealed targets.
extension CampaignStore {
  /// Seals targets once more under the claim that had sealed them: Redis has forgotten it.
  ///
  /// - Returns: whether they are sealed now; not when another has the claim.
  public func restore(_ targets: SealedTargets, of ledger: SliceLedger) async throws -> Bool {
    var pipeline = RedisPipeline()
    for page in targets.pages { ledger.append(page, to: &pipeline) }
    ledger.seal(count: targets.count, to: &pipeline)
    return try await run(pipeline).last?.integer == 1
  }

  /// Expands a slice that is not sealed.
  ///
  /// - Returns: the targets, or `nil` when the claim was lost on the way.
  public func expand(_ ledger: SliceLedger, audience: Audience, filter: DeviceFilter) async throws -> SealedTargets? {
    var builder = TargetBuilder(ledger: ledger)
    let partition = ledger.slice.partition
    let listed = keys.audience(partition, ledger.slice.campaign)
    switch audience {
    case .tokens, .channel:
      try await scan(RedisPipeline(), source: listed) { members, _ in
        for member in members { builder.add(token: member, user: .init(start: nil, count: 0)) }
        return try await builder.flush(to: self)
      }
    case .users:
      try await scanUsers(partition, RedisPipeline(), source: listed) { users, records in
        builder.add(users: users, records: records, filter: filter)
        return try await builder.flush(to: self)
      }
    case .segment(let expression):
      var plan = ExpressionPlan(
        keys: keys, partition: partition, scratch: String(decoding: ledger.claim, as: UTF8.self))
      let source = plan.evaluate(expression.root)
      try await scanUsers(partition, plan.pipeline, source: source) { users, records in
        builder.add(users: users, records: records, filter: filter)
        return try await builder.flush(to: self)
      }
      if let cleanup = plan.cleanup { _ = try await run(cleanup) }
    }
    return try await builder.seal(in: self)
  }

  /// Walks over the users of one partition for whom an expression holds, with their devices.
  ///
  /// - Parameter body: gets users and, beside them, their device records (null for none); returns false to stop.
  func forEachUser(
    of expression: AudienceExpression, in partition: Int, scratch: String,
    _ body: ([RedisReply], RedisReply) async throws -> Bool
  ) async throws {
    var plan = ExpressionPlan(keys: keys, partition: partition, scratch: scratch)
    let source = plan.evaluate(expression.root)
    try await scanUsers(partition, plan.pipeline, source: source, body)
    if let cleanup = plan.cleanup { _ = try await run(cleanup) }
  }

  private func scanUsers(
    _ partition: Int, _ preparation: RedisPipeline, source: String,
    _ body: ([RedisReply], RedisReply) async throws -> Bool
  ) async throws {
    let devices = keys.devices(partition)
    try await scan(preparation, source: source) { members, _ in
      guard !members.isEmpty else { return true }
      var pipeline = RedisPipeline(reserving: members.count * 32)
      pipeline.command("HMGET") { arguments in
        arguments.append(devices)
        for member in members { arguments.append(member) }
      }
      return try await body(members, run(pipeline)[0])
    }
  }

  /// Reads a set page by page, each member once.
  ///
  /// SSCAN may repeat members while the set's table is being rebuilt; what has been seen is remembered, which a
  /// partition's bounded size makes affordable. A cursor does not survive its connection: an error ends the walk, and
  /// the caller begins again.
  private func scan(
    _ preparation: RedisPipeline, source: String, _ body: ([RedisReply], Int) async throws -> Bool
  ) async throws {
    var seen = ByteStringSet()
    var cursor = "0"
    var pipeline = preparation
    repeat {
      pipeline.append("SSCAN", source, cursor, "COUNT", Self.batch)
      guard let reply = try await run(pipeline).last else { return }
      pipeline.removeAll()
      cursor = reply[0].string ?? "0"
      let members = reply[1].filter { member in member.withBytes { seen.insert($0) } }
      // SSCAN returns a small set whole, and may return more than COUNT of a large one.
      for start in stride(from: 0, to: members.count, by: Self.batch) {
        let page = Array(members[start..<min(start + Self.batch, members.count)])
        guard try await body(page, page.count) else { return }
      }
    } while cursor != "0"
  }
}

/// An expression as set commands within one partition.
struct ExpressionPlan {
  let keys: Keyspace
  let partition: Int
  let scratch: String
  private(set) var pipeline = RedisPipeline()
  private var steps = 0

  /// Seconds after which what a dead worker left goes by itself.
  private static let scratchLifetime = 3600

  init(keys: Keyspace, partition: Int, scratch: String) {
    self.keys = keys
    self.partition = partition
    self.scratch = scratch
  }

  /// Appends what makes the set of a node.
  ///
  /// - Returns: the key that has it: a scratch key, or the segment itself where nothing is to be computed.
  mutating func evaluate(_ node: AudienceExpression.Node) -> String {
    switch node {
    case .segment(let name): return keys.segment(partition, name)
    case .everybody: return keys.users(partition)
    case .not(let inner): return combine("SDIFFSTORE", keys.users(partition), evaluate(inner))
    // Without this a negation would first copy everybody.
    case .and(let left, .not(let right)): return combine("SDIFFSTORE", evaluate(left), evaluate(right))
    case .and(let left, let right): return combine("SINTERSTORE", evaluate(left), evaluate(right))
    case .or(let left, let right): return combine("SUNIONSTORE", evaluate(left), evaluate(right))
    }
  }

  private mutating func combine(_ command: StaticString, _ left: String, _ right: String) -> String {
    steps += 1
    let key = keys.scratch(partition, scratch, steps)
    pipeline.append(command, key, left, right)
    pipeline.append("EXPIRE", key, Self.scratchLifetime)
    return key
  }

  /// What removes the scratch keys; `nil` when there are none.
  var cleanup: RedisPipeline? {
    guard steps > 0 else { return nil }
    var pipeline = RedisPipeline()
    pipeline.command("UNLINK") { arguments in
      for step in 1...steps { arguments.append(keys.scratch(partition, scratch, step)) }
    }
    return pipeline
  }
}

/// Collects targets and hands them to the slice's list in scripts of bounded size.
private struct TargetBuilder {
  let ledger: SliceLedger
  private var entries = EntryList()
  private var targets = SealedTargets()
  private var lostClaim = false

  init(ledger: SliceLedger) {
    self.ledger = ledger
  }

  mutating func add(token: RedisReply, user: UnsafeRawBufferPointer) {
    token.withBytes { token in entries.append { TargetEntry.write(token: token, user: user, to: &$0) } }
  }

  /// Adds the devices of users, each token once within its user.
  mutating func add(users: [RedisReply], records: RedisReply, filter: DeviceFilter) {
    for (user, record) in zip(users, records) where !record.isNull {
      user.withBytes { user in
        record.withBytes { record in
          for device in DeviceCursor(record) where filter.admits(device) {
            entries.append { TargetEntry.write(token: device.token, user: user, to: &$0) }
          }
        }
      }
    }
  }

  /// Writes what has been collected; false when the claim is lost.
  mutating func flush(to store: CampaignStore) async throws -> Bool {
    guard !entries.isEmpty else { return !lostClaim }
    var pipeline = RedisPipeline(reserving: entries.bytes.count * 2)
    for start in stride(from: 0, to: entries.count, by: CampaignStore.batch) {
      var page = EntryList()
      for position in start..<min(start + CampaignStore.batch, entries.count) {
        page.append { $0.append(contentsOf: entries[position]) }
      }
      ledger.append(page, to: &pipeline)
      targets.pages.append(page)
    }
    for reply in try await store.run(pipeline) where reply.integer == -1 { lostClaim = true }
    entries.removeAll()
    return !lostClaim
  }

  mutating func seal(in store: CampaignStore) async throws -> SealedTargets? {
    guard !lostClaim else { return nil }
    var pipeline = RedisPipeline()
    ledger.seal(count: targets.count, to: &pipeline)
    return try await store.run(pipeline)[0].integer == 1 ? targets : nil
  }
}
