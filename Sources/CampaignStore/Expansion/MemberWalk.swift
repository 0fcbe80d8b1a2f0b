import PushCore
import Redis

/// Source of an audience's members in one partition.
enum MemberSource: Sendable {
  /// A set of tokens, by key.
  case tokens(String)
  /// Users that a search finds.
  case users(AudienceSearch)
}

/// Data to read about users in addition to their devices.
struct UserReads: Sendable {
  var attributes = false
  /// Id of the campaign whose placeholder values for the users are read; `nil` for none.
  var valuesOf: String?

  var isNothing: Bool { !attributes && valuesOf == nil }
}

/// A page of an audience's members with their device records. The record of a user without devices is null.
/// Pages of tokens have no records.
struct MemberPage {
  var members: ArraySlice<RedisReply> = []
  var records: ArraySlice<RedisReply> = []
  /// Attributes of each member, if they were requested.
  var attributes: ArraySlice<RedisReply> = []
  /// Placeholder values of each member, if they were requested.
  var values: ArraySlice<RedisReply> = []
  /// Users of the audience that the job excludes.
  var excluded: [RedisReply] = []
  /// Users of the audience who are on a suppression list.
  var suppressed: [RedisReply] = []

  /// Whether the page has no members and no users who are left out.
  var isEmpty: Bool { members.isEmpty && excluded.isEmpty && suppressed.isEmpty }

  /// Calls `body` for each user with devices: id, device records, attributes and placeholder values (if they were
  /// requested).
  func forEachUser(
    _ body: (UnsafeRawBufferPointer, UnsafeRawBufferPointer, _ attributes: RedisReply?, _ values: RedisReply?) -> Void
  ) {
    for (offset, user) in members.enumerated() {
      let record = records[records.startIndex + offset]
      guard !record.isNull else { continue }
      let json = attributes.isEmpty ? nil : attributes[attributes.startIndex + offset]
      let own = values.isEmpty ? nil : values[values.startIndex + offset]
      user.withBytes { user in record.withBytes { body(user, $0, json, own) } }
    }
  }
}

/// A cursor over the members of an audience in one partition. It returns them page by page, each member once. The
/// cursor appends commands to the caller's pipeline, and the caller passes the replies to it.
///
/// No command handles more members than ``CampaignStore/batch``, with two exceptions. SSCAN returns a whole set if
/// Redis stores the set in one piece (a listpack or an array of integers). An HGETALL reads the devices of up to
/// ``wholeHash`` users.
///
/// A page needs up to three reads, one after the other: the members of a set, the other sets of the expression that
/// contain them, and their devices. While one page is in the second read, the next page is in the first, so each page
/// costs one round trip. If the choice of sets depends on their sizes, the sizes are read before the first page. If
/// members must be tested against the users of an earlier campaign, the cursor first reads all of these users, because
/// no set in Redis contains them.
///
/// SSCAN and HSCAN may repeat members while Redis rebuilds the table. The cursor therefore remembers the members that
/// it has seen; the bounded size of a partition limits the memory for that. A cursor of SSCAN or HSCAN is valid only on
/// its connection, so the caller starts again after an error.
struct MemberWalk: Sendable {
  /// A set that is read from end to end.
  private enum Scan {
    case tokens(String)
    case set(AudienceSet)
    /// The hash of device records, for all registered users. HSCAN takes Redis three quarters of the time of SSCAN and
    /// HMGET; HGETALL takes half the time of HSCAN.
    case devices(isWhole: Bool)

    var set: AudienceSet? {
      switch self {
      case .tokens: nil
      case .set(let set): set
      case .devices: .users
      }
    }
  }

  /// Largest number of users in a partition's hash that is read with one HGETALL. HSCAN creates two objects for each
  /// user and costs Redis twice as much as HGETALL (0.67 and 0.36 µs a user). At this size HGETALL takes as long as
  /// two pages of HSCAN.
  static let wholeHash = 2_048

  private let keys: Keyspace
  private let partition: Int
  private var search: AudienceSearch?
  private let reads: UserReads
  /// Sets that are not read completely yet. The first of them is being read.
  private var scans: [Scan]
  private var cursor = "0"
  /// Whether the choice of sets depends on sizes that are not known yet.
  private var needsSizes = false
  /// Sets that must be read as a whole, because Redis can't test whether they contain a user. `loadPosition` is the
  /// position in the first of them.
  private var loads: [EarlierAudience] = []
  private var loadPosition = "0"
  private var loaded: [AudienceSet: ByteStringSet] = [:]
  private var seen = ByteStringSet()
  /// Members that were read and not tested yet.
  private var read = MemberPage()
  /// Members that the next replies test, and the set from which they were read.
  private var asked: (page: MemberPage, source: AudienceSet)?
  /// Members of the audience whose devices were not read yet. `fetched` has the members whose devices the next reply
  /// contains.
  private var meant: ArraySlice<RedisReply> = []
  private var fetched: ArraySlice<RedisReply> = []
  /// Whether a set has more members than one page.
  private(set) var isLarge = false

  /// Creates a cursor before the first page.
  ///
  /// - Parameter reads: the data to read about users with their devices.
  init(_ source: MemberSource, in partition: Int, reading reads: UserReads = UserReads(), _ keys: Keyspace) {
    self.reads = reads
    self.keys = keys
    self.partition = partition
    scans = []
    switch source {
    case .tokens(let key): scans = [.tokens(key)]
    case .users(let search):
      self.search = search
      if let cover = search.fixedCover, !(cover.contains(.users) && reads.isNothing) {
        begin(search, cover, [:])
      } else {
        needsSizes = true
      }
    }
  }

  /// Begins to read sets that together contain every possible member.
  ///
  /// - Parameters:
  ///   - cover: the sets to read.
  ///   - sizes: the sizes of the sets, if they were read.
  private mutating func begin(_ search: AudienceSearch, _ cover: [AudienceSet], _ sizes: [AudienceSet: Int]) {
    self.search = search
    scans = cover.map { set in
      set == .users && reads.isNothing ? .devices(isWhole: sizes[set].map { $0 <= Self.wholeHash } ?? false) : .set(set)
    }
    isLarge = cover.contains { sizes[$0] ?? 0 > CampaignStore.batch }
    for case .reached(let earlier) in Set(cover.flatMap { search.asked(of: $0) }) { loads.append(earlier) }
  }

  /// Whether all members were returned.
  var isOver: Bool {
    !needsSizes && scans.isEmpty && read.members.isEmpty && asked == nil && meant.isEmpty && fetched.isEmpty
  }

  // MARK: Reading

  /// Appends the commands of the next reads.
  mutating func read(to pipeline: inout RedisPipeline) {
    if needsSizes, let search {
      for set in search.sets { keys.appendSize(of: set, in: partition, to: &pipeline) }
      return
    }
    if let earlier = loads.first {
      keys.appendPage(of: earlier, in: partition, from: loadPosition, to: &pipeline)
      return
    }
    fetch(to: &pipeline)
    ask(to: &pipeline)
    endScan()
    guard read.members.isEmpty, let scan = scans.first else { return }
    switch scan {
    case .tokens(let key): pipeline.append("SSCAN", key, cursor, "COUNT", CampaignStore.batch)
    case .set(.reached(let earlier)): keys.appendPage(of: earlier, in: partition, from: cursor, to: &pipeline)
    case .set(let set): pipeline.append("SSCAN", keys.members(partition, of: set), cursor, "COUNT", CampaignStore.batch)
    case .devices(isWhole: true): pipeline.append("HGETALL", keys.devices(partition))
    case .devices(isWhole: false):
      pipeline.append("HSCAN", keys.devices(partition), cursor, "COUNT", CampaignStore.batch)
    }
  }

  private mutating func fetch(to pipeline: inout RedisPipeline) {
    fetched = meant.prefix(CampaignStore.batch)
    meant.removeFirst(fetched.count)
    guard !fetched.isEmpty else { return }
    pipeline.command("HMGET") { arguments in
      arguments.append(keys.devices(partition))
      for member in fetched { arguments.append(member) }
    }
    if reads.attributes {
      pipeline.command("HMGET") { arguments in
        arguments.append(keys.attributes(partition))
        for member in fetched { arguments.append(member) }
      }
    }
    if let id = reads.valuesOf {
      pipeline.command("HMGET") { arguments in
        arguments.append(keys.values(partition, id))
        for member in fetched { arguments.append(member) }
      }
    }
  }

  /// Appends the commands that test the next batch of members. SSCAN returns a small set whole, and may return more
  /// than COUNT members of a large one.
  private mutating func ask(to pipeline: inout RedisPipeline) {
    guard let search, let source = scans.first?.set, !read.members.isEmpty else { return }
    let page = MemberPage(
      members: read.members.prefix(CampaignStore.batch), records: read.records.prefix(CampaignStore.batch))
    read.members.removeFirst(page.members.count)
    read.records.removeFirst(page.records.count)
    asked = (page, source)
    var conditions: [DeviceCondition] = []
    for set in search.asked(of: source) where loaded[set] == nil {
      if case .matching(let condition) = set {
        conditions.append(condition)
      } else {
        ask(keys.members(partition, of: set), by: "SMISMEMBER", about: page.members, to: &pipeline)
      }
    }
    guard !conditions.isEmpty else { return }
    if page.records.isEmpty { ask(keys.devices(partition), by: "HMGET", about: page.members, to: &pipeline) }
    if conditions.contains(where: { !$0.predicate.attributes.isEmpty }) {
      ask(keys.attributes(partition), by: "HMGET", about: page.members, to: &pipeline)
    }
  }

  private func ask(
    _ key: String, by command: StaticString, about members: ArraySlice<RedisReply>, to pipeline: inout RedisPipeline
  ) {
    pipeline.command(command) { arguments in
      arguments.append(key)
      for member in members { arguments.append(member) }
    }
  }

  // MARK: Replies

  /// Receives the replies to the commands that ``read(to:)`` appended.
  ///
  /// - Returns: the members that need no further reads; none in the first calls.
  mutating func receive(_ replies: ArraySlice<RedisReply>) -> MemberPage {
    var replies = replies
    if needsSizes, let search {
      needsSizes = false
      let sizes = replies.map { $0.integer ?? 0 }
      let known = Dictionary(zip(search.sets, sizes), uniquingKeysWith: { first, _ in first })
      if let search = search.withoutEmpty(sizes) { begin(search, search.cover(known), known) }
      return MemberPage()
    }
    if let earlier = loads.first, let reply = replies.first {
      for user in reply[1] { user.withBytes { _ = loaded[.reached(earlier), default: ByteStringSet()].insert($0) } }
      loadPosition = reply[0].string ?? "0"
      if loadPosition == "0" {
        if loaded[.reached(earlier)] == nil { loaded[.reached(earlier)] = ByteStringSet() }
        loads.removeFirst()
      }
      return MemberPage()
    }
    var complete = MemberPage()
    if !fetched.isEmpty, let records = replies.popFirst() {
      complete = MemberPage(members: fetched, records: Array(records)[...])
      if reads.attributes, let attributes = replies.popFirst() { complete.attributes = Array(attributes)[...] }
      if reads.valuesOf != nil, let values = replies.popFirst() { complete.values = Array(values)[...] }
      fetched = []
    }
    if let (page, source) = asked, let search {
      asked = nil
      var columns: [AudienceSet: [Bool]] = [:]
      var conditions: [DeviceCondition] = []
      for set in search.asked(of: source) {
        if let loaded = loaded[set] {
          columns[set] = page.members.map { $0.withBytes(loaded.contains) }
        } else if case .matching(let condition) = set {
          conditions.append(condition)
        } else if let reply = replies.popFirst() {
          columns[set] = reply.map { $0.integer == 1 }
        }
      }
      if !conditions.isEmpty { answer(conditions, about: page, by: &replies, to: &columns) }
      let holds = search.matches(columns, source: source, count: page.members.count)
      if search.leavesOut, holds.contains(false) { collectExcluded(page, where: holds, columns, source, &complete) }
      keep(page, where: holds, &complete)
    }
    if let reply = replies.first { receive(scan: reply, &complete) }
    return complete
  }

  /// Collects the users of a page who are left out only because of an exclusion or a suppression list.
  private func collectExcluded(
    _ page: MemberPage, where holds: [Bool], _ columns: [AudienceSet: [Bool]], _ source: AudienceSet,
    _ complete: inout MemberPage
  ) {
    guard let search else { return }
    let (selected, admitted) = search.leftOut(columns, source: source, count: page.members.count)
    for (offset, isMeant) in holds.enumerated() where !isMeant && selected[offset] {
      let member = page.members[page.members.startIndex + offset]
      if admitted[offset] { complete.suppressed.append(member) } else { complete.excluded.append(member) }
    }
  }

  /// Evaluates conditions for the users of a page.
  private func answer(
    _ conditions: [DeviceCondition], about page: MemberPage, by replies: inout ArraySlice<RedisReply>,
    to columns: inout [AudienceSet: [Bool]]
  ) {
    var records = page.records
    if records.isEmpty, let reply = replies.popFirst() { records = Array(reply)[...] }
    var attributes: [RedisReply]?
    if conditions.contains(where: { !$0.predicate.attributes.isEmpty }) {
      attributes = replies.popFirst().map(Array.init)
    }
    for condition in conditions {
      columns[.matching(condition)] = records.enumerated().map { offset, record in
        !record.isNull && record.withBytes { condition.matches($0, attributes: attributes?[offset]) }
      }
    }
  }

  /// Continues with the next set when all members of the present one were read and tested.
  private mutating func endScan() {
    guard cursor == "done", read.members.isEmpty else { return }
    scans.removeFirst()
    cursor = "0"
  }

  private mutating func keep(_ page: MemberPage, where holds: [Bool], _ complete: inout MemberPage) {
    if complete.members.isEmpty, !page.records.isEmpty, !holds.contains(false) {
      complete.members = page.members
      complete.records = page.records
      return
    }
    for (offset, isMeant) in holds.enumerated() where isMeant {
      let member = page.members[page.members.startIndex + offset]
      if page.records.isEmpty {
        meant.append(member)
      } else {
        complete.members.append(member)
        complete.records.append(page.records[page.records.startIndex + offset])
      }
    }
  }

  private mutating func receive(scan reply: RedisReply, _ complete: inout MemberPage) {
    guard let scan = scans.first else { return }
    switch scan {
    case .devices(isWhole: true):
      cursor = "done"
      take(devices: reply, isOnce: scans.count == 1 && seen.isEmpty)
    case .devices(isWhole: false):
      advance(to: reply[0])
      take(devices: reply[1], isOnce: false)
    case .tokens, .set:
      advance(to: reply[0])
      read.members = reply[1].filter { member in member.withBytes { seen.insert($0) } }[...]
    }
    isLarge = isLarge || read.members.count > CampaignStore.batch
    if let search, let source = scan.set {
      if search.asked(of: source).isEmpty {
        // The term depends on no other set, but the members of this set may still not match it.
        keep(read, where: search.matches([:], source: source, count: read.members.count), &complete)
        read = MemberPage()
      }
    } else {
      complete.members += read.members
      read = MemberPage()
    }
    endScan()
  }

  private mutating func advance(to position: RedisReply) {
    let next = position.string ?? "0"
    if next != "0" { isLarge = true }
    cursor = next == "0" ? "done" : next
  }

  /// Adds the users of a reply to the members that were read.
  ///
  /// - Parameters:
  ///   - pairs: users and their records, alternating.
  ///   - isOnce: whether each user occurs once, and in no other set that is read.
  private mutating func take(devices pairs: RedisReply, isOnce: Bool) {
    for index in stride(from: 0, to: pairs.count - 1, by: 2) {
      let user = pairs[index]
      guard isOnce || user.withBytes({ seen.insert($0) }) else { continue }
      read.members.append(user)
      read.records.append(pairs[index + 1])
    }
  }
}
