public import PushCore
import Redis

/// Which users, and which of their devices, a campaign may reach.
public struct DeviceFilter: Sendable {
  let service: [UInt8]
  let kind: UInt8
  let app: [UInt8]
  let environment: [UInt8]
  private let predicate: DevicePredicate?
  private let sample: UserSample?
  private let canary: Canary?
  private let devices: DeviceChoice
  /// Users who get nothing, and are counted.
  private let control: ControlGroup?
  /// Users who get it before the others do.
  private let firstWave: FirstWave?
  /// What different users are told.
  private let variants: CampaignVariants?
  /// The Live Activity whose tokens are meant; empty where it does not matter.
  private let activity: [UInt8]
  /// From when ages are counted, in ms since the epoch.
  let start: Int
  /// What the pushes say that are not all the same; `nil` when they are.
  let content: PersonalContent?
  /// The campaign whose job says something of its users; `nil` for none.
  private let valuesOf: String?
  /// When each device gets it; `nil` for all of them at once.
  let timing: TargetTiming?

  /// - Parameters:
  ///   - service: the name of the campaign's push service; devices of any other are left out.
  ///   - kind: what the campaign's tokens are for; those for anything else are left out.
  ///   - app: devices of another app are left out; those that name none are in.
  ///   - environment: likewise.
  ///   - predicate: devices for which it doesn't hold are left out.
  ///   - sample: users who are not in it are left out.
  ///   - canary: users who are not in its part are left out.
  ///   - devices: how many of those that are left each user gets it on.
  ///   - control: users who get nothing, and are counted.
  ///   - firstWave: users who get it before the others do; no draw leaves those out whom it lists.
  ///   - variants: what different users are told.
  ///   - activity: tokens of another Live Activity, and those that are of none, are left out; `nil` where it does not
  ///     matter.
  ///   - start: when the campaign began, in ms since the epoch: the same for all its slices.
  ///   - content: what the pushes say that are not all the same.
  ///   - valuesOf: the campaign whose job says something of its users; `nil` for none.
  ///   - timing: when each device gets it.
  public init(
    service: String, kind: TokenKind, app: String, environment: String, predicate: DevicePredicate? = nil,
    sample: UserSample? = nil, canary: Canary? = nil, devices: DeviceChoice = .all, control: ControlGroup? = nil,
    firstWave: FirstWave? = nil, variants: CampaignVariants? = nil, activity: String? = nil, start: Int = 0,
    content: PersonalContent? = nil, valuesOf: String? = nil, timing: CampaignTiming = CampaignTiming()
  ) {
    self.content = content?.needsTarget == true ? content : nil
    self.valuesOf = valuesOf
    self.service = Array(service.utf8)
    self.kind = kind.code
    self.app = Array(app.utf8)
    self.environment = Array(environment.utf8)
    self.predicate = predicate
    self.sample = sample
    self.canary = canary
    self.devices = devices
    self.control = control?.isEmpty == false ? control : nil
    self.firstWave = firstWave
    self.variants = variants
    self.activity = Array((activity ?? "").utf8)
    self.start = start
    self.timing = timing.isPerDevice ? TargetTiming(timing, start: start) : nil
  }

  /// What a campaign asks of devices.
  ///
  /// - Parameters:
  ///   - campaign: the campaign.
  ///   - service: its app's.
  ///   - environment: likewise.
  ///   - start: when it began, in ms since the epoch.
  ///   - control: the share of the app's users who are in its control group; `nil` for none.
  public init(
    _ campaign: Campaign, service: any PushService, environment: String, start: Int, control: Double? = nil
  ) {
    self.init(
      service: service.name, kind: service.tokenKind(for: campaign), app: campaign.app, environment: environment,
      predicate: campaign.predicate, sample: campaign.sample, canary: campaign.canary, devices: campaign.devices,
      control: ControlGroup(of: campaign, app: control), firstWave: campaign.firstWave,
      variants: campaign.variants, activity: campaign.activity, start: start, content: campaign.content,
      valuesOf: campaign.hasValues ? campaign.id : nil, timing: campaign.timing)
  }

  private static let activityName = Array(DeviceRecord.activityName.utf8)

  /// Whether pushes differ by what is sealed with their targets.
  public var isPersonal: Bool { content != nil }

  /// What it asks for of users to choose among them.
  var asksToChoose: UserReads { UserReads(attributes: asksForAttributes) }

  /// What it asks for of users to know all of their targets.
  var asks: UserReads {
    UserReads(
      attributes: asksForAttributes || timing?.timing.attribute != nil || content?.names.isEmpty == false,
      valuesOf: valuesOf)
  }

  /// Whether its condition asks for attributes of users.
  private var asksForAttributes: Bool { predicate?.attributes.isEmpty == false }

  /// What it asks of a user's attributes.
  private func attributes(_ json: RedisReply?) -> PredicateAttributes {
    guard asksForAttributes, let predicate else { return PredicateAttributes([], of: []) }
    return PredicateAttributes(json?.bytes.map(Array.init) ?? [], of: predicate.attributes)
  }

  /// Calls `body` with the devices of a user that the campaign goes to.
  ///
  /// - Parameters:
  ///   - record: the user's device records.
  ///   - json: the user's attributes, where they were asked for.
  func forEachTarget(
    of user: UnsafeRawBufferPointer, _ record: UnsafeRawBufferPointer, _ json: RedisReply?,
    _ body: (DeviceView) -> Void
  ) {
    guard sample?.has(user) ?? true || firstWave?.lists(user) == true, canary?.has(user) ?? true else { return }
    let attributes = attributes(json)
    var latest: DeviceView?
    for device in DeviceCursor(record) where admits(device, attributes) {
      if devices == .all {
        body(device)
      } else if latest.map({ $0.seenAt < device.seenAt }) ?? true {
        latest = device
      }
    }
    if let latest { body(latest) }
  }

  /// Whether a user is in a control group: the campaign means them all the same, if they have a device for it.
  func isControl(_ user: UnsafeRawBufferPointer) -> Bool {
    guard let control, control.has(user) else { return false }
    return firstWave?.lists(user) != true
  }

  /// The place of the variant that a user gets; 0 where all are told the same.
  func variant(of user: UnsafeRawBufferPointer) -> Int { variants?.place(of: user) ?? 0 }

  /// Into how many parts the targets of a slice fall, one behind the other; 0 where it does not matter in which order they stand.
  var parts: Int { firstWave == nil ? 0 : 2 }

  /// Into which of them those of a user belong.
  func part(of user: UnsafeRawBufferPointer) -> Int { firstWave?.has(user) != false ? 0 : 1 }

  /// The hour at which a user gets it, in seconds after midnight; `nil` for one who has none of their own.
  ///
  /// - Parameter json: the user's attributes, where they were asked for.
  func timeOfDay(_ json: RedisReply?) -> Int? {
    guard let local = timing?.timing.localTime, local.attribute != nil else { return nil }
    return json?.bytes.flatMap { local.timeOfDay(of: Array($0)) }
  }

  /// When a user was seen last, in ms since the epoch, on any of the devices that the campaign goes to; 0 for never, `nil`
  /// where there is none.
  func seenAt(of user: UnsafeRawBufferPointer, _ record: UnsafeRawBufferPointer, _ json: RedisReply?) -> UInt64? {
    var seenAt: UInt64?
    forEachTarget(of: user, record, json) { seenAt = max(seenAt ?? 0, $0.seenAt) }
    return seenAt
  }

  private func admits(_ device: DeviceView, _ attributes: PredicateAttributes) -> Bool {
    guard admits(device) else { return false }
    return predicate?.holds(of: device, user: attributes, now: start) ?? true
  }

  private func admits(_ device: DeviceView) -> Bool {
    guard !device.isQuarantined, device.kind == kind, device.name(.service).elementsEqual(service) else { return false }
    let app = device.name(.app)
    guard app.isEmpty || app.elementsEqual(self.app) else { return false }
    let environment = device.name(.environment)
    guard environment.isEmpty || environment.elementsEqual(self.environment) else { return false }
    return activity.isEmpty || device.attribute(Self.activityName).elementsEqual(activity)
  }
}

/// The targets that a worker has sealed, for as long as Redis may lose them.
public struct SealedTargets: Sendable {
  /// How many there are.
  public internal(set) var count = 0
  /// Whether they are admitted before they are granted.
  public internal(set) var admits = false
  /// The pages one behind the other: a slice is one block, which goes back to the system as a whole.
  var bytes: [UInt8] = []
  /// Where each page ends.
  var ends: [Int] = []
  /// How many targets each part has, one behind the other; empty where there are none.
  public internal(set) var parts: [Int] = []
  /// Users whom the campaign means and who get nothing.
  public internal(set) var control = ControlUsers()
  /// When they may be sent; `nil` for all of them at once.
  public internal(set) var times: SendTimes?
  /// By place, how many of them each variant has; empty where there are none.
  public internal(set) var variants: [Int] = []

  /// All of them, as they would be read again.
  public var chunk: TargetChunk { chunk(from: 0, count: count) }

  /// Some of them, as they would be read again.
  ///
  /// - Parameters:
  ///   - first: the first of them, the first of its page.
  ///   - count: how many, fewer at the end.
  public func chunk(from first: Int, count: Int) -> TargetChunk {
    var chunk = TargetChunk(first: first, capacity: count)
    for number in TargetPage.pages(of: first..<min(first + count, self.count)) where number < ends.count {
      page(number).withUnsafeBytes { chunk.append(page: $0) }
    }
    return chunk
  }

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
    ledger.append(targets.control, to: &pipeline)
    ledger.seal(
      count: targets.count, pages: targets.ends.count, control: targets.control, parts: targets.parts,
      times: targets.times, admits: targets.admits, variants: targets.variants, to: &pipeline)
    return try await run(pipeline).last?.integer == 1
  }

  /// Expands a slice that is not sealed.
  ///
  /// - Parameters:
  ///   - quota: how many users it takes at most, those seen last; `nil` for all.
  ///   - now: ms since the epoch, more or less: whose quiet hours it is.
  ///   - admits: whether its targets are to be admitted before they are granted.
  /// - Returns: the targets, or `nil` when the claim was lost on the way.
  public func expand(
    _ ledger: SliceLedger, of campaign: Campaign, filter: DeviceFilter, quota: Int? = nil, now: Int = 0,
    admits: Bool = false
  ) async throws -> SealedTargets? {
    var builder = TargetBuilder(ledger: ledger, filter: filter, quota: quota, now: now, admits: admits)
    let source = source(of: campaign, start: filter.start, in: ledger.slice.partition)
    let rest = try await walk(source, in: ledger.slice.partition, reading: filter.asks) {
      page, pipeline in
      if case .tokens = source { builder.add(tokens: page.members) } else { builder.add(page, filter: filter) }
      builder.flush(to: &pipeline)
    }
    guard var rest else { return nil }
    builder.seal(to: &rest)
    return try await run(rest).last?.integer == 1 ? builder.targets : nil
  }

  /// Whose members the audience of a campaign has in a partition.
  ///
  /// - Parameter start: when it began, in ms since the epoch.
  func source(of campaign: Campaign, start: Int, in partition: Int) -> MemberSource {
    AudienceSearch(campaign, start: start).map { .users($0) } ?? .tokens(keys.audience(partition, campaign.id))
  }

  /// Walks over the users of one partition for whom an expression holds, with their devices.
  func forEachUser(
    of search: AudienceSearch, in partition: Int, reading reads: UserReads = UserReads(),
    _ body: (MemberPage) throws -> Void
  ) async throws {
    _ = try await walk(.users(search), in: partition, reading: reads) { page, _ in try body(page) }
  }

  /// Walks over the members of an audience. One round trip a page: what `body` writes goes with the next reads.
  ///
  /// - Parameters:
  ///   - source: whose they are.
  ///   - partition: where.
  ///   - reads: what is wanted of users beside their devices.
  ///   - body: gets each page. What it adds to the pipeline are steps of an expansion; one that is refused ends the walk.
  /// - Returns: what `body` has added and nobody has run yet; `nil` when a step was refused.
  private func walk(
    _ source: MemberSource, in partition: Int, reading reads: UserReads,
    _ body: (MemberPage, inout RedisPipeline) throws -> Void
  ) async throws -> RedisPipeline? {
    var members = MemberWalk(source, in: partition, reading: reads, keys)
    var pipeline = RedisPipeline()
    var steps = 0
    while !members.isOver {
      let written = pipeline.count
      members.read(to: &pipeline)
      let replies = pipeline.isEmpty ? [] : try await run(pipeline)
      pipeline.removeAll()
      if replies.prefix(steps).contains(where: SliceLedger.isRefused) { return nil }
      let page = members.receive(replies[written...])
      if !page.members.isEmpty { try body(page, &pipeline) }
      steps = pipeline.count
    }
    return pipeline
  }
}

/// Collects targets into pages and writes them to the slice's list.
struct TargetBuilder {
  let ledger: SliceLedger
  private(set) var targets = SealedTargets()
  private var flushedPages = 0
  private var renewedAt = ContinuousClock.now
  /// Those who are taken, where not all can be: only when everybody was looked at is it known who.
  private var best: BestUsers?
  /// The targets by their parts, where there are such: where each of them stands is known when everybody was looked at.
  private var parts: [TargetPart]
  /// Where they have times of their own: then no page is written before all are known.
  private var sorter: TargetSorter?
  /// Where targets are counted by variant: by what it knows of each.
  private let counting: PersonalContent?

  /// - Parameters:
  ///   - filter: what the campaign asks of devices; it has parts, or times, but not both.
  ///   - quota: how many users are taken at most; `nil` for all.
  ///   - now: ms since the epoch, more or less.
  ///   - admits: whether they are admitted before they are granted.
  init(ledger: SliceLedger, filter: DeviceFilter, quota: Int? = nil, now: Int = 0, admits: Bool = false) {
    self.ledger = ledger
    targets.admits = admits
    parts = Array(repeating: TargetPart(), count: filter.parts)
    best = quota.map { BestUsers(quota: $0, campaign: ledger.slice.campaign) }
    sorter = filter.timing.map { TargetSorter($0, ledger.store.zones, now: now) }
    counting = filter.content?.variantLanguages == nil ? nil : filter.content
  }

  mutating func add(tokens: ArraySlice<RedisReply>) {
    for token in tokens { token.withBytes { add(token: $0, user: .init(start: nil, count: 0)) } }
  }

  /// Adds the devices of users, each token once within its user.
  mutating func add(_ page: MemberPage, filter: DeviceFilter) {
    guard let content = filter.content else {
      page.forEachUser { user, record, json, _ in add(user, record, json, filter) }
      return
    }
    var found = PersonalContent.User(content)
    page.forEachUser { user, record, json, values in
      json.withBytes { attributes in
        values.withBytes {
          content.find(&found, values: $0, attributes: attributes)
          add(user, record, json, filter, content, &found)
        }
      }
    }
  }

  /// Adds the devices of one user.
  ///
  /// - Parameters:
  ///   - json: the user's attributes.
  ///   - values: what the job says of the user.
  mutating func add(
    _ user: UnsafeRawBufferPointer, _ record: UnsafeRawBufferPointer, _ json: RedisReply,
    values: UnsafeRawBufferPointer, filter: DeviceFilter
  ) {
    guard let content = filter.content else { return add(user, record, json, filter) }
    var found = PersonalContent.User(content)
    json.withBytes { attributes in
      content.find(&found, values: values, attributes: attributes)
      add(user, record, json, filter, content, &found)
    }
  }

  private mutating func add(
    _ user: UnsafeRawBufferPointer, _ record: UnsafeRawBufferPointer, _ json: RedisReply?, _ filter: DeviceFilter
  ) {
    add(user, record, json, filter) { TargetPage.write(token: $0.token, user: user, to: &$1) }
  }

  /// Adds the devices of a user, with what the campaign's content has found of them.
  private mutating func add(
    _ user: UnsafeRawBufferPointer, _ record: UnsafeRawBufferPointer, _ json: RedisReply?, _ filter: DeviceFilter,
    _ content: PersonalContent, _ found: inout PersonalContent.User
  ) {
    let variant = filter.variant(of: user)
    add(user, record, json, filter) { device, page in
      TargetPage.write(token: device.token, user: user, to: &page) {
        content.writeValues(of: &found, locale: device.name(.locale), variant: variant, to: &$0)
      }
    }
  }

  /// - Parameter write: writes a target's place in a page.
  private mutating func add(
    _ user: UnsafeRawBufferPointer, _ record: UnsafeRawBufferPointer, _ json: RedisReply?, _ filter: DeviceFilter,
    write: (DeviceView, inout [UInt8]) -> Void
  ) {
    guard !filter.isControl(user) else { return addControl(user, record, json, filter) }
    let part = parts.isEmpty ? 0 : filter.part(of: user)
    guard best == nil else { return addBest(user, record, json, filter, part, write: write) }
    let timeOfDay = sorter == nil ? nil : filter.timeOfDay(json)
    filter.forEachTarget(of: user, record, json) { device in
      guard Self.canBeTarget(token: device.token, user: user) else { return }
      guard parts.isEmpty else { return parts[part].add { write(device, &$0) } }
      guard sorter == nil else {
        let place = place(of: device, timeOfDay)
        return sorter?.add(at: place) { write(device, &$0) } ?? ()
      }
      write(device, &targets.bytes)
      endTarget()
    }
  }

  /// Adds a user who gets nothing. A control group is a part of those whom the limit takes: only so can they be held
  /// against each other.
  private mutating func addControl(
    _ user: UnsafeRawBufferPointer, _ record: UnsafeRawBufferPointer, _ json: RedisReply?, _ filter: DeviceFilter
  ) {
    guard let seenAt = filter.seenAt(of: user, record, json) else { return }
    if best == nil { targets.control.add(user) } else { best?.end(control: user, seenAt: seenAt) }
  }

  private mutating func addBest(
    _ user: UnsafeRawBufferPointer, _ record: UnsafeRawBufferPointer, _ json: RedisReply?, _ filter: DeviceFilter,
    _ part: Int, write: (DeviceView, inout [UInt8]) -> Void
  ) {
    let timeOfDay = sorter == nil ? nil : filter.timeOfDay(json)
    var seenAt: UInt64 = 0
    filter.forEachTarget(of: user, record, json) { device in
      seenAt = max(seenAt, device.seenAt)
      guard Self.canBeTarget(token: device.token, user: user) else { return }
      let place = place(of: device, timeOfDay)
      best?.add(place) { write(device, &$0) }
    }
    best?.end(user: user, seenAt: seenAt, part: part)
  }

  /// Adds the targets of those who are taken, once everybody was looked at.
  private mutating func takeBest() {
    guard var best else { return }
    self.best = nil
    best.forEachUser { user, part in
      for target in user {
        if let part {
          put(target.bytes, part, at: target.mark)
        } else {
          target.bytes.withUnsafeBytes { targets.control.add($0) }
        }
      }
    }
  }

  /// - Parameter place: where a target with a time of its own belongs.
  private mutating func put(_ target: ArraySlice<UInt8>, _ part: Int, at place: Int = 0) {
    guard sorter == nil else { return sorter?.add(at: place) { $0 += target } ?? () }
    if parts.isEmpty {
      targets.bytes += target
      endTarget()
    } else {
      parts[part].add { $0 += target }
    }
  }

  /// Puts the parts one behind the other.
  private mutating func joinParts() {
    guard !parts.isEmpty else { return }
    targets.parts = parts.map(\.count)
    let all = parts
    parts = []
    for part in all { part.forEach { put($0, 0) } }
  }

  /// Where a target of the device belongs; 0 where all are sent at once.
  private mutating func place(of device: DeviceView, _ timeOfDay: Int?) -> Int {
    sorter?.place(zone: device.name(.timezone), timeOfDay: timeOfDay) ?? 0
  }

  /// What can't be a target, nothing of ours has written: it is left out.
  private static func canBeTarget(token: UnsafeRawBufferPointer, user: UnsafeRawBufferPointer) -> Bool {
    1...DeviceToken.maximumLength ~= token.count && user.count <= Int(UInt16.max)
  }

  private mutating func add(token: UnsafeRawBufferPointer, user: UnsafeRawBufferPointer) {
    guard Self.canBeTarget(token: token, user: user) else { return }
    guard parts.isEmpty else { return parts[0].add { TargetPage.write(token: token, user: user, to: &$0) } }
    TargetPage.write(token: token, user: user, to: &targets.bytes)
    endTarget()
  }

  private mutating func endTarget() {
    targets.count += 1
    if targets.count % TargetPage.size == 0 { targets.ends.append(targets.bytes.count) }
  }

  /// Writes the pages that have become full, and renews the lease when it is time.
  mutating func flush(to pipeline: inout RedisPipeline) {
    ledger.append(targets, from: flushedPages, to: &pipeline)
    flushedPages = targets.ends.count
    guard ContinuousClock.now - renewedAt > .milliseconds(ledger.lease / 3) else { return }
    ledger.renewLease(to: &pipeline)
    renewedAt = .now
  }

  /// Everybody was looked at.
  mutating func finish() {
    takeBest()
    joinParts()
    sorter?.finish(&targets)
    sorter = nil
  }

  /// Nothing more is added.
  mutating func endPage() {
    finish()
    if targets.count % TargetPage.size != 0 { targets.ends.append(targets.bytes.count) }
    if let counting { countVariants(by: counting) }
  }

  private mutating func countVariants(by content: PersonalContent) {
    var counts = CampaignVariants.places.map { _ in 0 }
    for first in stride(from: 0, to: targets.count, by: TargetPage.size) {
      let chunk = targets.chunk(from: first, count: TargetPage.size)
      for position in chunk.places.indices {
        if let place = content.variant(of: chunk.values(position)) { counts[place] += 1 }
      }
    }
    targets.variants = counts
  }

  /// Writes what is left, and the seal. What is kept has none of the room of a list that grows.
  mutating func seal(to pipeline: inout RedisPipeline) {
    endPage()
    flush(to: &pipeline)
    ledger.append(targets.control, to: &pipeline)
    ledger.seal(
      count: targets.count, pages: targets.ends.count, control: targets.control, parts: targets.parts,
      times: targets.times, admits: targets.admits, variants: targets.variants, to: &pipeline)
    targets.bytes = targets.bytes.withUnsafeBytes(Array.init)
  }
}

extension RedisReply? {
  /// Calls `body` with the bytes of a reply; with none where nothing was asked for.
  fileprivate func withBytes(_ body: (UnsafeRawBufferPointer) -> Void) {
    if let self { self.withBytes(body) } else { body(UnsafeRawBufferPointer(start: nil, count: 0)) }
  }
}

/// Targets that stand together, as they are written.
private struct TargetPart {
  private var bytes: [UInt8] = []
  private var ends: [Int] = []

  var count: Int { ends.count }

  mutating func add(_ write: (inout [UInt8]) -> Void) {
    write(&bytes)
    ends.append(bytes.count)
  }

  func forEach(_ body: (ArraySlice<UInt8>) -> Void) {
    var start = 0
    for end in ends {
      body(bytes[start..<end])
      start = end
    }
  }
}
