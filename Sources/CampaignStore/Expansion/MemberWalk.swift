import PushCore
import Redis

/// Whose members an audience has in one partition.
enum MemberSource: Sendable {
  /// A set of tokens, by its key.
  case tokens(String)
  /// Users that are searched for.
  case users(AudienceSearch)
}

/// What is read of users beside their devices.
struct UserReads: Sendable {
  var attributes = false
  /// What the job of this campaign says of them; `nil` for nothing.
  var valuesOf: String?

  var isNothing: Bool { !attributes && valuesOf == nil }
}

/// Members of an audience, and beside each its device records: null for a user who has none, nothing at all of tokens.
struct MemberPage {
  var members: ArraySlice<RedisReply> = []
  var records: ArraySlice<RedisReply> = []
  /// Beside each its attributes, where they were asked for.
  var attributes: ArraySlice<RedisReply> = []
  /// Beside each what the job says of it, where that was asked for.
  var values: ArraySlice<RedisReply> = []
  /// Users in the audience that the job excludes.
  var excluded: [RedisReply] = []
  /// Users in the audience that are on a suppression list.
  var suppressed: [RedisReply] = []

  /// Whether no user was left out.
  var isEmpty: Bool { members.isEmpty && excluded.isEmpty && suppressed.isEmpty }

  /// Those who have devices: name, device records; attributes, and what the job says, where they were asked for.
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

/// A walk over the members of an audience in one partition, page by page, each member once: says what to read, and gets the
/// replies.
///
/// No command is about more members than ``CampaignStore/batch``, or what Redis makes of that where it keeps a set in
/// one piece, but for one: the devices of up to ``wholeHash`` users are read by one HGETALL. A page goes through up to
/// three reads, which follow each other like those of a pipeline, so that a round trip is paid once a page: who is in a set;
/// which other sets have them, where an expression asks; their devices. Before the first page it is asked how large the sets
/// are, where it depends on that what is read; and who was reached by earlier campaigns is read whole, where it is to be
/// asked: nothing in Redis can be asked for it.
///
/// SSCAN and HSCAN may repeat members while Redis rebuilds the table; what has been seen is remembered, which a
/// partition's bounded size makes affordable. A cursor does not survive its connection: an error ends the walk, and the
/// caller begins again.
struct MemberWalk: Sendable {
  /// A set that is read from one end to the other.
  private enum Scan {
    case tokens(String)
    case set(AudienceSet)
    /// The hash of device records: everybody who is registered, for three quarters of what SSCAN and HMGET cost Redis; and
    /// at once, for half of what HSCAN does.
    case devices(isWhole: Bool)

    var set: AudienceSet? {
      switch self {
      case .tokens: nil
      case .set(let set): set
      case .devices: .users
      }
    }
  }

  /// How many users the hash of a partition may have for it to be read at once. HSCAN makes two objects of each and costs
  /// Redis twice what HGETALL does (0.67 and 0.36 µs a user): so many take it as long as two of its pages.
  static let wholeHash = 2_048

  private let keys: Keyspace
  private let partition: Int
  private var search: AudienceSearch?
  private let reads: UserReads
  /// Sets that are yet to be read, the first is being read.
  private var scans: [Scan]
  private var cursor = "0"
  /// Whether it depends on sizes, which were not asked for yet, what is read.
  private var needsSizes = false
  /// Sets that nothing in Redis can be asked for, which are yet to be read whole, and where the first is being read.
  private var loads: [EarlierAudience] = []
  private var loadPosition = "0"
  private var loaded: [AudienceSet: ByteStringSet] = [:]
  private var seen = ByteStringSet()
  /// Read, and not asked about.
  private var read = MemberPage()
  /// Those of them that the next replies are about, and the set that they are of.
  private var asked: (page: MemberPage, source: AudienceSet)?
  /// Meant, without their devices, and those of them whose devices the next reply has.
  private var meant: ArraySlice<RedisReply> = []
  private var fetched: ArraySlice<RedisReply> = []
  /// Whether a set has more members than one page.
  private(set) var isLarge = false

  /// - Parameter reads: what is read of users with their devices.
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

  /// - Parameters:
  ///   - cover: what is to be read.
  ///   - sizes: by set, where they were asked for.
  private mutating func begin(_ search: AudienceSearch, _ cover: [AudienceSet], _ sizes: [AudienceSet: Int]) {
    self.search = search
    scans = cover.map { set in
      set == .users && reads.isNothing ? .devices(isWhole: sizes[set].map { $0 <= Self.wholeHash } ?? false) : .set(set)
    }
    isLarge = cover.contains { sizes[$0] ?? 0 > CampaignStore.batch }
    for case .reached(let earlier) in Set(cover.flatMap { search.asked(of: $0) }) { loads.append(earlier) }
  }

  /// Whether everybody was handed out.
  var isOver: Bool {
    !needsSizes && scans.isEmpty && read.members.isEmpty && asked == nil && meant.isEmpty && fetched.isEmpty
  }

  // MARK: Reading

  /// Writes the next reads.
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

  /// SSCAN returns a small set whole, and may return more than COUNT of a large one.
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

  /// Takes in the replies to these reads.
  ///
  /// - Returns: the members that are complete now; none at the beginning of a walk.
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
      let holds = search.holds(columns, source: source, count: page.members.count)
      if search.leavesOut, holds.contains(false) { noteLeftOut(page, where: holds, columns, source, &complete) }
      keep(page, where: holds, &complete)
    }
    if let reply = replies.first { receive(scan: reply, &complete) }
    return complete
  }

  /// Counts the users of a page that only an exclusion or a suppression list leaves out.
  private func noteLeftOut(
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

  /// Says of whom of a page conditions hold.
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
        !record.isNull && record.withBytes { condition.holds(of: $0, attributes: attributes?[offset]) }
      }
    }
  }

  /// Goes over to the next set, once nothing of one is left to be read or asked about.
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
        // What it depends on besides is nothing; that is not to say that it holds.
        keep(read, where: search.holds([:], source: source, count: read.members.count), &complete)
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

  /// - Parameters:
  ///   - pairs: users and their records in turn.
  ///   - isOnce: whether each user is there once, and in nothing else that is read.
  private mutating func take(devices pairs: RedisReply, isOnce: Bool) {
    for index in stride(from: 0, to: pairs.count - 1, by: 2) {
      let user = pairs[index]
      guard isOnce || user.withBytes({ seen.insert($0) }) else { continue }
      read.members.append(user)
      read.records.append(pairs[index + 1])
    }
  }
}
