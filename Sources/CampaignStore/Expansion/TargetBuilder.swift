import PushCore
import Redis

/// Collects the targets of a slice into pages, and writes the pages to the slice's list in Redis.
///
/// One builder collects the targets of all legs of a campaign in a partition. Each leg's targets go to a list of its
/// own.
struct TargetBuilder {
  /// Targets of one leg.
  private struct Leg {
    let ledger: SliceLedger
    var targets = SealedTargets()
    var flushedPages = 0
    /// Sorter of targets with send times of their own; `nil` without such times. With a sorter, no page is written
    /// before all targets are known.
    var sorter: TargetSorter?
    /// Content whose variants are counted; `nil` without variants.
    let counting: PersonalContent?

    mutating func endTarget() {
      targets.count += 1
      if targets.count % TargetPage.size == 0 { targets.ends.append(targets.bytes.count) }
    }

    /// Appends a target to the present page, or passes it to the sorter.
    ///
    /// - Parameter place: for a target with a send time of its own, the place of its bucket in the sorter; `nil`
    ///   without a sorter.
    mutating func add(at place: Int?, _ write: (inout [UInt8]) -> Void) {
      if let place { return sorter?.add(at: place, write) ?? () }
      write(&targets.bytes)
      endTarget()
    }

    mutating func finish() {
      sorter?.finish(&targets)
      sorter = nil
    }

    /// Completes the list of targets with its last page.
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

    /// Appends the commands that write the full pages.
    mutating func flush(to pipeline: inout RedisPipeline) {
      ledger.append(targets, from: flushedPages, to: &pipeline)
      flushedPages = targets.ends.count
    }

    /// Copies the stored bytes, which releases the spare capacity of the growing array.
    mutating func compact() { targets.bytes = targets.bytes.withUnsafeBytes(Array.init) }
  }

  /// Values of one user for the personal content of a leg.
  private struct Finding {
    let content: PersonalContent
    var user: PersonalContent.User

    init(_ content: PersonalContent) { (self.content, user) = (content, PersonalContent.User(content)) }

    mutating func find(values: UnsafeRawBufferPointer, attributes: UnsafeRawBufferPointer) {
      content.find(&user, values: values, attributes: attributes)
    }

    mutating func write(locale: UnsafeRawBufferPointer, variant: Int, to page: inout [UInt8]) {
      content.writeValues(of: &user, locale: locale, variant: variant, to: &page)
    }
  }

  /// Legs in the order of the filter's legs.
  private var legs: LegList<Leg>
  /// Position of the leg whose slice this builder's worker has claimed.
  private let own: Int
  /// Whether targets have send times of their own. A test of this value is cheaper than one of a leg's sorter.
  private let isTimed: Bool
  /// Whether the lists of the other legs exist in Redis.
  private var hasBegunSiblings = false
  private var renewedAt = ContinuousClock.now
  /// Selection of users for a campaign with a limit; `nil` without a limit. Which users are selected is known only
  /// after the last user.
  private var best: BestUsers?
  /// Number of users from whom ``best`` selects.
  private var candidates = 0

  /// Creates a builder without targets.
  ///
  /// - Parameters:
  ///   - ledger: the ledger of the claimed slice. Its parts are those of the filter's legs.
  ///   - filter: the device filter of the campaign.
  ///   - quota: the maximum number of users; `nil` for all.
  ///   - now: approximate time in ms since the epoch.
  init(ledger: SliceLedger, filter: DeviceFilter, quota: Int? = nil, now: Int = 0) {
    let parts = ledger.parts
    own = parts.firstIndex(of: ledger.slice.campaign) ?? 0
    isTimed = filter.timing != nil
    func leg(_ part: String, _ content: PersonalContent?) -> Leg {
      Leg(
        ledger: part == ledger.slice.campaign ? ledger : ledger.sibling(part),
        sorter: filter.timing.map { TargetSorter($0, ledger.store.zones, now: now) },
        counting: content?.variantLanguages == nil ? nil : content)
    }
    legs = LegList(leg(parts[0], filter.contents.firstLeg))
    legs.append(contentsOf: zip(parts, filter.contents).dropFirst().map(leg))
    best = quota.map { BestUsers(quota: $0, campaign: parts[0]) }
  }

  /// Targets of each leg, in the order of the filter's legs.
  var ofLegs: [SealedTargets] { legs.map(\.targets) }

  /// Targets of the claimed slice, with those of the other legs.
  var targets: SealedTargets {
    guard legs.count > 1 else { return legs[own].targets }
    var targets = legs[own].targets
    targets.siblings = legs.indices.filter { $0 != own }.map {
      SealedTargets.Sibling(campaign: legs[$0].ledger.slice.campaign, targets: legs[$0].targets)
    }
    return targets
  }

  /// Sets the number of departures from the partition before the first user was added.
  mutating func set(departures: Int) {
    legs.changeEach { $0.targets.departures = departures }
  }

  mutating func add(tokens: ArraySlice<RedisReply>) {
    for token in tokens { token.withBytes { add(token: $0, user: .init(start: nil, count: 0)) } }
  }

  /// Adds the devices of users, each token once for its user.
  mutating func add(_ page: MemberPage, filter: DeviceFilter) {
    countExcluded(of: page, filter)
    guard filter.isPersonal else {
      page.forEachUser { user, record, json, _ in add(user, record, json, filter) }
      return
    }
    var found = filter.contents.mapLegs { $0.map(Finding.init) }
    page.forEachUser { user, record, json, values in
      json.withBytes { attributes in
        values.withBytes { add(user, record, json, filter, &found, values: $0, attributes: attributes) }
      }
    }
  }

  /// Counts the users of a page who are left out regardless of their devices.
  private mutating func countExcluded(of page: MemberPage, _ filter: DeviceFilter) {
    func count(_ users: [RedisReply]) -> Int { users.count { $0.withBytes(filter.isOfStage) } }
    if !page.excluded.isEmpty { legs.firstLeg.targets.audience[.excluded] += count(page.excluded) }
    if !page.suppressed.isEmpty { legs.firstLeg.targets.audience[.suppressed] += count(page.suppressed) }
    for (user, record) in zip(page.members, page.records) where record.isNull && user.withBytes(filter.isOfStage) {
      legs.firstLeg.targets.audience[.noDevice] += 1
    }
  }

  /// Adds the devices of one user.
  ///
  /// - Parameters:
  ///   - json: the user's attributes.
  ///   - values: the user's placeholder values.
  mutating func add(
    _ user: UnsafeRawBufferPointer, _ record: UnsafeRawBufferPointer, _ json: RedisReply,
    values: UnsafeRawBufferPointer, filter: DeviceFilter
  ) {
    guard filter.isPersonal else { return add(user, record, json, filter) }
    var found = filter.contents.mapLegs { $0.map(Finding.init) }
    json.withBytes { add(user, record, json, filter, &found, values: values, attributes: $0) }
  }

  private mutating func add(
    _ user: UnsafeRawBufferPointer, _ record: UnsafeRawBufferPointer, _ json: RedisReply?, _ filter: DeviceFilter
  ) {
    add(user, record, json, filter) { device, _, page in
      TargetPage.write(token: device.token, user: user, to: &page)
    }
  }

  /// Adds the devices of a user, with the values that the content of each leg needs.
  ///
  /// - Parameter found: for each leg, the user's values that its content uses; `nil` for a leg without personal
  ///   content.
  private mutating func add(
    _ user: UnsafeRawBufferPointer, _ record: UnsafeRawBufferPointer, _ json: RedisReply?, _ filter: DeviceFilter,
    _ found: inout LegList<Finding?>, values: UnsafeRawBufferPointer, attributes: UnsafeRawBufferPointer
  ) {
    found.changeEach { $0?.find(values: values, attributes: attributes) }
    let variant = filter.variant(of: user)
    add(user, record, json, filter) { device, leg, page in
      found.change(leg) { finding in
        guard finding != nil else { return TargetPage.write(token: device.token, user: user, to: &page) }
        TargetPage.write(token: device.token, user: user, to: &page) {
          finding?.write(locale: device.name(.locale), variant: variant, to: &$0)
        }
      }
    }
  }

  /// Adds the devices of a user.
  ///
  /// - Parameter write: appends a target to a page of a leg.
  private mutating func add(
    _ user: UnsafeRawBufferPointer, _ record: UnsafeRawBufferPointer, _ json: RedisReply?, _ filter: DeviceFilter,
    write: (DeviceView, Int, inout [UInt8]) -> Void
  ) {
    guard filter.isOfStage(user) else { return }
    guard !filter.isControl(user) else { return addControl(user, record, json, filter) }
    guard best == nil else { return addBest(user, record, json, filter, write: write) }
    let timeOfDay = isTimed ? filter.timeOfDay(json) : nil
    var isReached = false
    filter.forEachTarget(of: user, record, json) { device, leg in
      guard Self.canBeTarget(token: device.token, user: user) else { return }
      isReached = true
      let place = place(of: device, leg, timeOfDay)
      legs.change(leg) { $0.add(at: place) { write(device, leg, &$0) } }
    }
    if isReached { legs.firstLeg.targets.audience.users += 1 } else { leaveOut(user, record, filter) }
  }

  private mutating func leaveOut(
    _ user: UnsafeRawBufferPointer, _ record: UnsafeRawBufferPointer, _ filter: DeviceFilter
  ) {
    legs.firstLeg.targets.audience[filter.reason(for: user, record)] += 1
  }

  /// Adds a user of the control group. The limit applies first, and the control group is then taken from the selected
  /// users. The two groups are therefore comparable.
  private mutating func addControl(
    _ user: UnsafeRawBufferPointer, _ record: UnsafeRawBufferPointer, _ json: RedisReply?, _ filter: DeviceFilter
  ) {
    guard let seenAt = filter.seenAt(of: user, record, json) else { return leaveOut(user, record, filter) }
    guard best != nil else { return legs.firstLeg.targets.control.add(user) }
    best?.end(control: user, seenAt: seenAt)
    candidates += 1
  }

  private mutating func addBest(
    _ user: UnsafeRawBufferPointer, _ record: UnsafeRawBufferPointer, _ json: RedisReply?, _ filter: DeviceFilter,
    write: (DeviceView, Int, inout [UInt8]) -> Void
  ) {
    let timeOfDay = isTimed ? filter.timeOfDay(json) : nil
    var seenAt: UInt64 = 0
    var isReached = false
    filter.forEachTarget(of: user, record, json) { device, leg in
      seenAt = max(seenAt, device.seenAt)
      guard Self.canBeTarget(token: device.token, user: user) else { return }
      isReached = true
      let mark = (place(of: device, leg, timeOfDay) ?? 0) * legs.count + leg
      best?.add(mark) { write(device, leg, &$0) }
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
      if !isControl { legs.firstLeg.targets.audience.users += 1 }
      for target in user {
        if isControl {
          target.bytes.withUnsafeBytes { legs.firstLeg.targets.control.add($0) }
        } else {
          let place = isTimed ? target.mark / legs.count : nil
          legs.change(target.mark % legs.count) { $0.add(at: place) { $0 += target.bytes } }
        }
      }
    }
    legs.firstLeg.targets.audience[.overLimit] += candidates - taken
  }

  /// Returns the place of the sorter's bucket for a target of the device; `nil` if all targets may be sent immediately.
  private mutating func place(of device: DeviceView, _ leg: Int, _ timeOfDay: Int?) -> Int? {
    guard isTimed else { return nil }
    return legs.change(leg) { $0.sorter?.place(zone: device.name(.timezone), timeOfDay: timeOfDay) }
  }

  /// Returns whether a token and a user fit into a target. If this is false, the device record is damaged, because
  /// Carillon writes no such device.
  static func canBeTarget(token: UnsafeRawBufferPointer, user: UnsafeRawBufferPointer) -> Bool {
    1...DeviceToken.maximumLength ~= token.count && user.count <= Int(UInt16.max)
  }

  private mutating func add(token: UnsafeRawBufferPointer, user: UnsafeRawBufferPointer) {
    guard Self.canBeTarget(token: token, user: user) else { return }
    legs.change(own) { $0.add(at: nil) { TargetPage.write(token: token, user: user, to: &$0) } }
  }

  /// Appends the commands that write the full pages, and renews the lease when it is due.
  mutating func flush(to pipeline: inout RedisPipeline) {
    beginSiblings(to: &pipeline)
    legs.changeEach { $0.flush(to: &pipeline) }
    guard ContinuousClock.now - renewedAt > .milliseconds(legs[own].ledger.lease / 3) else { return }
    legs[own].ledger.renewLease(to: &pipeline)
    renewedAt = .now
  }

  /// Creates the lists of the other legs. The claim has already created the list of its own slice.
  private mutating func beginSiblings(to pipeline: inout RedisPipeline) {
    guard !hasBegunSiblings else { return }
    hasBegunSiblings = true
    for place in legs.indices where place != own { legs[place].ledger.beginBuilding(to: &pipeline) }
  }

  /// Completes the targets after the last user.
  mutating func finish() {
    takeBest()
    legs.changeEach { $0.finish() }
  }

  /// Completes the targets and the last page of each leg.
  mutating func endPage() {
    finish()
    legs.changeEach { $0.endPage() }
  }

  /// Appends the commands that write the remaining pages and the seal.
  mutating func seal(to pipeline: inout RedisPipeline) {
    endPage()
    flush(to: &pipeline)
    for leg in legs { leg.ledger.append(leg.targets.control, to: &pipeline) }
    let seals = legs.map { (ledger: $0.ledger, seal: SliceSeal($0.targets, departures: $0.targets.departures)) }
    legs[own].ledger.seal(
      seals[own].seal, siblings: seals.indices.filter { $0 != own }.map { seals[$0] }, to: &pipeline)
    legs.changeEach { $0.compact() }
  }
}

extension RedisReply? {
  /// Calls `body` with the bytes of a reply. Without a reply, the buffer is empty.
  fileprivate func withBytes(_ body: (UnsafeRawBufferPointer) -> Void) {
    if let self { self.withBytes(body) } else { body(UnsafeRawBufferPointer(start: nil, count: 0)) }
  }
}
