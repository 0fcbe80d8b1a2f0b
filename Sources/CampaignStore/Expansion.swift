public import PushCore
import Redis

/// Which of a user's devices a campaign may reach.
public struct DeviceFilter: Sendable {
  let service: [UInt8]
  let kind: UInt8
  let app: [UInt8]
  let environment: [UInt8]

  /// - Parameters:
  ///   - service: the name of the campaign's push service; devices of any other are left out.
  ///   - kind: what the campaign's tokens are for; those for anything else are left out.
  ///   - app: devices of another app are left out; those that name none are in.
  ///   - environment: likewise.
  public init(service: String, kind: TokenKind, app: String, environment: String) {
    self.service = Array(service.utf8)
    self.kind = kind.code
    self.app = Array(app.utf8)
    self.environment = Array(environment.utf8)
  }

  func admits(_ device: DeviceView) -> Bool {
    guard !device.isQuarantined, device.kind == kind, device.name(.service).elementsEqual(service) else { return false }
    let app = device.name(.app)
    guard app.isEmpty || app.elementsEqual(self.app) else { return false }
    let environment = device.name(.environment)
    return environment.isEmpty || environment.elementsEqual(self.environment)
  }
}

/// The targets that a worker has sealed, for as long as Redis may lose them.
public struct SealedTargets: Sendable {
  /// How many there are.
  public internal(set) var count = 0
  /// The pages one behind the other: a slice is one block, which goes back to the system as a whole.
  var bytes: [UInt8] = []
  /// Where each page ends.
  var ends: [Int] = []

  /// The bytes of a page.
  func page(_ number: Int) -> ArraySlice<UInt8> {
    bytes[(number == 0 ? 0 : ends[number - 1])..<ends[number]]
  }
}

/// From an audience to a slice's sealed targets.
extension CampaignStore {
  /// Seals targets once more under the claim that had sealed them: Redis has lost it.
  ///
  /// - Returns: whether they are sealed now; not when another has the claim.
  public func restore(_ targets: SealedTargets, of ledger: SliceLedger) async throws -> Bool {
    var pipeline = RedisPipeline()
    ledger.append(targets, to: &pipeline)
    ledger.seal(count: targets.count, pages: targets.ends.count, to: &pipeline)
    return try await run(pipeline).last?.integer == 1
  }

  /// Expands a slice that is not sealed.
  ///
  /// - Returns: the targets, or `nil` when the claim was lost on the way.
  public func expand(_ ledger: SliceLedger, audience: Audience, filter: DeviceFilter) async throws -> SealedTargets? {
    var builder = TargetBuilder(ledger: ledger)
    let partition = ledger.slice.partition
    let listed = keys.audience(partition, ledger.slice.campaign)
    var rest: RedisPipeline?
    switch audience {
    case .tokens, .channel:
      rest = try await scan(RedisPipeline(), source: listed, devices: nil) { members, _, pipeline in
        for member in members { builder.add(token: member, user: .init(start: nil, count: 0)) }
        builder.flush(to: &pipeline)
        return true
      }
    case .users:
      rest = try await scan(RedisPipeline(), source: listed, devices: keys.devices(partition)) {
        builder.add(users: $0, records: $1, filter: filter)
        builder.flush(to: &$2)
        return true
      }
    case .segment(let expression):
      var plan = ExpressionPlan(
        keys: keys, partition: partition, scratch: String(decoding: ledger.claim, as: UTF8.self))
      let source = plan.evaluate(expression.root)
      rest = try await scan(plan.pipeline, source: source, devices: keys.devices(partition)) {
        builder.add(users: $0, records: $1, filter: filter)
        builder.flush(to: &$2)
        return true
      }
      if let cleanup = plan.cleanup { rest?.append(cleanup) }
    }
    guard var rest else { return nil }
    builder.seal(to: &rest)
    return try await run(rest).last?.integer == 1 ? builder.targets : nil
  }

  /// Walks over the users of one partition for whom an expression holds, with their devices.
  ///
  /// - Parameter body: gets users and, beside them, their device records (null for none); returns false to stop.
  func forEachUser(
    of expression: AudienceExpression, in partition: Int, scratch: String,
    _ body: (ArraySlice<RedisReply>, RedisReply) async throws -> Bool
  ) async throws {
    var plan = ExpressionPlan(keys: keys, partition: partition, scratch: scratch)
    let source = plan.evaluate(expression.root)
    let devices = keys.devices(partition)
    _ = try await scan(plan.pipeline, source: source, devices: devices) { users, records, _ in
      guard let records else { return true }
      return try await body(users, records)
    }
    if let cleanup = plan.cleanup { _ = try await run(cleanup) }
  }

  /// Reads a set page by page, each member once, and the device records that stand under them. One round trip a page:
  /// the devices of one page are read with the members of the next.
  ///
  /// SSCAN may repeat members while the set's table is being rebuilt; what has been seen is remembered, which a
  /// partition's bounded size makes affordable. A cursor does not survive its connection: an error ends the walk, and
  /// the caller begins again.
  ///
  /// - Parameters:
  ///   - preparation: what makes the set.
  ///   - source: the set.
  ///   - devices: the hash with the records; `nil` for none.
  ///   - body: gets members and, beside them, their records. What it adds to the pipeline goes with what is read next;
  ///     an answer of -1 to that ends the walk. Returns false to stop.
  /// - Returns: what `body` has added and nobody has run yet; `nil` when the walk ended early.
  private func scan(
    _ preparation: RedisPipeline, source: String, devices: String?,
    _ body: (ArraySlice<RedisReply>, RedisReply?, inout RedisPipeline) async throws -> Bool
  ) async throws -> RedisPipeline? {
    var seen = ByteStringSet()
    var cursor: String? = "0"
    var members: ArraySlice<RedisReply> = []
    var pipeline = preparation
    while cursor != nil || !members.isEmpty {
      // SSCAN returns a small set whole, and may return more than COUNT of a large one.
      let page = members.prefix(Self.batch)
      members.removeFirst(page.count)
      let added = pipeline.count
      if let devices, !page.isEmpty {
        pipeline.command("HMGET") { arguments in
          arguments.append(devices)
          for member in page { arguments.append(member) }
        }
      }
      let next = members.isEmpty ? cursor : nil
      if let next { pipeline.append("SSCAN", source, next, "COUNT", Self.batch) }
      let replies = pipeline.isEmpty ? [] : try await run(pipeline)
      pipeline.removeAll()
      if replies.prefix(added).contains(where: { $0.integer == -1 }) { return nil }
      if next != nil, let reply = replies.last {
        cursor = reply[0].string.flatMap { $0 == "0" ? nil : $0 }
        members = reply[1].filter { member in member.withBytes { seen.insert($0) } }[...]
      }
      if page.isEmpty { continue }
      guard try await body(page, devices == nil ? nil : replies[added], &pipeline) else { return nil }
    }
    return pipeline
  }
}

/// An expression as set commands within one partition.
struct ExpressionPlan {
  let keys: Keyspace
  let partition: Int
  let scratch: String
  private(set) var pipeline = RedisPipeline()
  private var steps = 0

  /// Seconds after which the scratch keys of a dead worker expire.
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

/// Collects targets into pages and writes them to the slice's list.
private struct TargetBuilder {
  let ledger: SliceLedger
  private(set) var targets = SealedTargets()
  private var flushedPages = 0

  init(ledger: SliceLedger) {
    self.ledger = ledger
  }

  mutating func add(token: RedisReply, user: UnsafeRawBufferPointer) {
    token.withBytes { add(token: $0, user: user) }
  }

  /// Adds the devices of users, each token once within its user.
  mutating func add(users: ArraySlice<RedisReply>, records: RedisReply?, filter: DeviceFilter) {
    guard let records else { return }
    for (user, record) in zip(users, records) where !record.isNull {
      user.withBytes { user in
        record.withBytes { record in
          for device in DeviceCursor(record) where filter.admits(device) { add(token: device.token, user: user) }
        }
      }
    }
  }

  private mutating func add(token: UnsafeRawBufferPointer, user: UnsafeRawBufferPointer) {
    TargetPage.write(token: token, user: user, to: &targets.bytes)
    targets.count += 1
    if targets.count % TargetPage.size == 0 { targets.ends.append(targets.bytes.count) }
  }

  /// Writes the pages that have become full.
  mutating func flush(to pipeline: inout RedisPipeline) {
    ledger.append(targets, from: flushedPages, to: &pipeline)
    flushedPages = targets.ends.count
  }

  /// Writes what is left, and the seal. What is kept has none of the room of a list that grows.
  mutating func seal(to pipeline: inout RedisPipeline) {
    if targets.count % TargetPage.size != 0 { targets.ends.append(targets.bytes.count) }
    flush(to: &pipeline)
    ledger.seal(count: targets.count, pages: targets.ends.count, to: &pipeline)
    targets.bytes = targets.bytes.withUnsafeBytes(Array.init)
  }
}
