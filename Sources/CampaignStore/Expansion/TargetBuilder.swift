import PushCore
import Redis

/// Collects targets into pages and writes them to the slice's list.
struct TargetBuilder {
  let ledger: SliceLedger
  private(set) var targets = SealedTargets()
  private var flushedPages = 0
  private var renewedAt = ContinuousClock.now
  /// Selection of users for a campaign with a limit; `nil` without one. The selection is known only after the last
  /// user.
  private var best: BestUsers?
  /// Number of users from whom ``best`` selects.
  private var candidates = 0
  /// Sorter of targets with their own send times; `nil` without such times. No page is written before all targets are
  /// known.
  private var sorter: TargetSorter?
  /// Content whose variants are counted; `nil` without variants.
  private let counting: PersonalContent?

  /// Creates a builder without targets.
  ///
  /// - Parameters:
  ///   - filter: the device filter of the campaign.
  ///   - quota: the maximum number of users; `nil` for all.
  ///   - now: approximate time in ms since the epoch.
  init(ledger: SliceLedger, filter: DeviceFilter, quota: Int? = nil, now: Int = 0) {
    self.ledger = ledger
    best = quota.map { BestUsers(quota: $0, campaign: ledger.slice.campaign) }
    sorter = filter.timing.map { TargetSorter($0, ledger.store.zones, now: now) }
    counting = filter.content?.variantLanguages == nil ? nil : filter.content
  }

  /// Sets the number of departures from the partition before the first user was added.
  mutating func note(departures: Int) { targets.departures = departures }

  mutating func add(tokens: ArraySlice<RedisReply>) {
    for token in tokens { token.withBytes { add(token: $0, user: .init(start: nil, count: 0)) } }
  }

  /// Adds the devices of users, each token once for its user.
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

  /// Counts the users of a page who are left out regardless of their devices.
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
  ///   - values: the user's values.
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

  /// Adds the devices of a user, with the values that the campaign's content needs.
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

  /// Adds the devices of a user.
  ///
  /// - Parameter write: appends a target to a page.
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

  /// Adds a user of the control group. The limit selects users before the control group is split off, because only then
  /// can the two groups be compared.
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

  /// Adds the targets of the selected users, after the last user.
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

  /// Adds a target.
  ///
  /// - Parameter place: the sorter's bucket of a target with its own send time.
  private mutating func put(_ target: ArraySlice<UInt8>, at place: Int) {
    guard sorter == nil else { return sorter?.add(at: place) { $0 += target } ?? () }
    targets.bytes += target
    endTarget()
  }

  /// Returns the sorter's bucket for a target of the device; 0 if all targets may be sent immediately.
  private mutating func place(of device: DeviceView, _ timeOfDay: Int?) -> Int {
    sorter?.place(zone: device.name(.timezone), timeOfDay: timeOfDay) ?? 0
  }

  /// Returns whether a token and a user fit into a target. Carillon writes no device for which this is false: such a
  /// record is damaged.
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

  /// Writes the full pages, and renews the lease when it is due.
  mutating func flush(to pipeline: inout RedisPipeline) {
    ledger.append(targets, from: flushedPages, to: &pipeline)
    flushedPages = targets.ends.count
    guard ContinuousClock.now - renewedAt > .milliseconds(ledger.lease / 3) else { return }
    ledger.renewLease(to: &pipeline)
    renewedAt = .now
  }

  /// Completes the targets after the last user.
  mutating func finish() {
    takeBest()
    sorter?.finish(&targets)
    sorter = nil
  }

  /// Completes the targets and the last page.
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

  /// Writes the remaining pages and the seal. Copies the stored bytes, which releases the spare capacity of the growing
  /// array.
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
  /// Calls `body` with the bytes of a reply; with no bytes if there is no reply.
  fileprivate func withBytes(_ body: (UnsafeRawBufferPointer) -> Void) {
    if let self { self.withBytes(body) } else { body(UnsafeRawBufferPointer(start: nil, count: 0)) }
  }
}
