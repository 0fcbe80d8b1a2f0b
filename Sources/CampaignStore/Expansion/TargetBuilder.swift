import PushCore
import Redis

/// Collects targets into pages and writes them to the slice's list.
struct TargetBuilder {
  let ledger: SliceLedger
  private(set) var targets = SealedTargets()
  private var flushedPages = 0
  private var renewedAt = ContinuousClock.now
  /// Those who are taken, where not all can be: only when everybody was looked at is it known who.
  private var best: BestUsers?
  /// Users among whom ``best`` chooses.
  private var candidates = 0
  /// Where they have times of their own: then no page is written before all are known.
  private var sorter: TargetSorter?
  /// Where targets are counted by variant: by what it knows of each.
  private let counting: PersonalContent?

  /// - Parameters:
  ///   - filter: what the campaign asks of devices.
  ///   - quota: how many users are taken at most; `nil` for all.
  ///   - now: ms since the epoch, more or less.
  init(ledger: SliceLedger, filter: DeviceFilter, quota: Int? = nil, now: Int = 0) {
    self.ledger = ledger
    best = quota.map { BestUsers(quota: $0, campaign: ledger.slice.campaign) }
    sorter = filter.timing.map { TargetSorter($0, ledger.store.zones, now: now) }
    counting = filter.content?.variantLanguages == nil ? nil : filter.content
  }

  /// Takes note of how many departures there were from the partition before anybody was added.
  mutating func note(departures: Int) { targets.departures = departures }

  mutating func add(tokens: ArraySlice<RedisReply>) {
    for token in tokens { token.withBytes { add(token: $0, user: .init(start: nil, count: 0)) } }
  }

  /// Adds the devices of users, each token once within its user.
  mutating func add(_ page: MemberPage, filter: DeviceFilter) {
    noteLeftOut(of: page, filter)
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

  /// Counts the users of a page who are left out whatever devices they have.
  private mutating func noteLeftOut(of page: MemberPage, _ filter: DeviceFilter) {
    func count(_ users: [RedisReply]) -> Int { users.count { $0.withBytes(filter.isOfStage) } }
    if !page.excluded.isEmpty { targets.audience[.excluded] += count(page.excluded) }
    if !page.suppressed.isEmpty { targets.audience[.suppressed] += count(page.suppressed) }
    for (user, record) in zip(page.members, page.records) where record.isNull && user.withBytes(filter.isOfStage) {
      targets.audience[.noDevice] += 1
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
    guard filter.isOfStage(user) else { return }
    guard !filter.isControl(user) else { return addControl(user, record, json, filter) }
    guard best == nil else { return addBest(user, record, json, filter, write: write) }
    let timeOfDay = sorter == nil ? nil : filter.timeOfDay(json)
    var isReached = false
    filter.forEachTarget(of: user, record, json) { device in
      guard Self.canBeTarget(token: device.token, user: user) else { return }
      isReached = true
      guard sorter == nil else {
        let place = place(of: device, timeOfDay)
        return sorter?.add(at: place) { write(device, &$0) } ?? ()
      }
      write(device, &targets.bytes)
      endTarget()
    }
    if isReached { targets.audience.users += 1 } else { leaveOut(user, record, filter) }
  }

  private mutating func leaveOut(
    _ user: UnsafeRawBufferPointer, _ record: UnsafeRawBufferPointer, _ filter: DeviceFilter
  ) {
    targets.audience[filter.reason(for: user, record)] += 1
  }

  /// Adds a user who gets nothing. A control group is a part of those whom the limit takes: only so can they be held
  /// against each other.
  private mutating func addControl(
    _ user: UnsafeRawBufferPointer, _ record: UnsafeRawBufferPointer, _ json: RedisReply?, _ filter: DeviceFilter
  ) {
    guard let seenAt = filter.seenAt(of: user, record, json) else { return leaveOut(user, record, filter) }
    guard best != nil else { return targets.control.add(user) }
    best?.end(control: user, seenAt: seenAt)
    candidates += 1
  }

  private mutating func addBest(
    _ user: UnsafeRawBufferPointer, _ record: UnsafeRawBufferPointer, _ json: RedisReply?, _ filter: DeviceFilter,
    write: (DeviceView, inout [UInt8]) -> Void
  ) {
    let timeOfDay = sorter == nil ? nil : filter.timeOfDay(json)
    var seenAt: UInt64 = 0
    var isReached = false
    filter.forEachTarget(of: user, record, json) { device in
      seenAt = max(seenAt, device.seenAt)
      guard Self.canBeTarget(token: device.token, user: user) else { return }
      isReached = true
      let place = place(of: device, timeOfDay)
      best?.add(place) { write(device, &$0) }
    }
    guard isReached else { return leaveOut(user, record, filter) }
    best?.end(user: user, seenAt: seenAt)
    candidates += 1
  }

  /// Adds the targets of those who are taken, once everybody was looked at.
  private mutating func takeBest() {
    guard var best else { return }
    self.best = nil
    var taken = 0
    best.forEachUser { user, isControl in
      taken += 1
      if !isControl { targets.audience.users += 1 }
      for target in user {
        if isControl {
          target.bytes.withUnsafeBytes { targets.control.add($0) }
        } else {
          put(target.bytes, at: target.mark)
        }
      }
    }
    targets.audience[.overLimit] += candidates - taken
  }

  /// - Parameter place: where a target with a time of its own belongs.
  private mutating func put(_ target: ArraySlice<UInt8>, at place: Int) {
    guard sorter == nil else { return sorter?.add(at: place) { $0 += target } ?? () }
    targets.bytes += target
    endTarget()
  }

  /// Where a target of the device belongs; 0 where all are sent at once.
  private mutating func place(of device: DeviceView, _ timeOfDay: Int?) -> Int {
    sorter?.place(zone: device.name(.timezone), timeOfDay: timeOfDay) ?? 0
  }

  /// Whether a token and a user fit into a target. Carillon writes no device for which this is false: its record is damaged.
  static func canBeTarget(token: UnsafeRawBufferPointer, user: UnsafeRawBufferPointer) -> Bool {
    1...DeviceToken.maximumLength ~= token.count && user.count <= Int(UInt16.max)
  }

  private mutating func add(token: UnsafeRawBufferPointer, user: UnsafeRawBufferPointer) {
    guard Self.canBeTarget(token: token, user: user) else { return }
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
      count: targets.count, pages: targets.ends.count, control: targets.control, times: targets.times,
      departures: targets.departures, variants: targets.variants, audience: targets.audience, to: &pipeline)
    targets.bytes = targets.bytes.withUnsafeBytes(Array.init)
  }
}

extension RedisReply? {
  /// Calls `body` with the bytes of a reply; with none where nothing was asked for.
  fileprivate func withBytes(_ body: (UnsafeRawBufferPointer) -> Void) {
    if let self { self.withBytes(body) } else { body(UnsafeRawBufferPointer(start: nil, count: 0)) }
  }
}
