import Redis

/// Where the members of an audience stand in one partition.
enum MemberSource {
  /// A set of tokens.
  case tokens(String)
  /// A set of users, and the hash that has their device records.
  case users(String, devices: String)
  /// The hash of device records: everybody who is registered.
  case everybody(devices: String)
}

/// Members of an audience, and beside each its device records: null for a user who has none, nothing at all of tokens.
struct MemberPage {
  var members: ArraySlice<RedisReply> = []
  var records: ArraySlice<RedisReply> = []
}

/// A walk over the members of an audience, page by page, each member once: says what to read, and gets the replies.
///
/// SSCAN and HSCAN may repeat members while Redis rebuilds the table; what has been seen is remembered, which a
/// partition's bounded size makes affordable. A cursor does not survive its connection: an error ends the walk, and the
/// caller begins again.
struct MemberWalk {
  private let source: MemberSource
  private var cursor: String? = "0"
  private var seen = ByteStringSet()
  /// Members of a set that were read and not handed out.
  private var members: ArraySlice<RedisReply> = []
  /// Those of them that the next replies complete.
  private var page: ArraySlice<RedisReply> = []

  init(_ source: MemberSource) {
    self.source = source
  }

  /// Whether everybody was handed out.
  var isOver: Bool { cursor == nil && members.isEmpty }

  /// Whether there is more than what was read so far; not before the first read.
  var hasFurtherPages: Bool { cursor != nil || members.count > CampaignStore.batch }

  /// Writes the next reads. Of a set they are the next members, and the devices of those read before them.
  mutating func read(to pipeline: inout RedisPipeline) {
    switch source {
    case .everybody(let devices):
      if let cursor { pipeline.append("HSCAN", devices, cursor, "COUNT", CampaignStore.batch) }
    case .users(let set, let devices):
      beginPage()
      if !page.isEmpty {
        pipeline.command("HMGET") { arguments in
          arguments.append(devices)
          for member in page { arguments.append(member) }
        }
      }
      readMembers(of: set, to: &pipeline)
    case .tokens(let set):
      beginPage()
      readMembers(of: set, to: &pipeline)
    }
  }

  /// SSCAN returns a small set whole, and may return more than COUNT of a large one.
  private mutating func beginPage() {
    page = members.prefix(CampaignStore.batch)
    members.removeFirst(page.count)
  }

  private func readMembers(of set: String, to pipeline: inout RedisPipeline) {
    if members.isEmpty, let cursor { pipeline.append("SSCAN", set, cursor, "COUNT", CampaignStore.batch) }
  }

  /// Takes in the replies to these reads.
  ///
  /// - Returns: the members that are complete now; none at the beginning of a walk over a set.
  mutating func receive(_ replies: ArraySlice<RedisReply>) -> MemberPage {
    switch source {
    case .everybody:
      guard let reply = replies.first else { return MemberPage() }
      return registered(of: reply)
    case .users, .tokens:
      var replies = replies
      var records: ArraySlice<RedisReply> = []
      if case .users = source, !page.isEmpty, let reply = replies.popFirst() { records = Array(reply)[...] }
      if let reply = replies.first {
        advance(to: reply)
        members = reply[1].filter { member in member.withBytes { seen.insert($0) } }[...]
      }
      return MemberPage(members: page, records: records)
    }
  }

  private mutating func advance(to reply: RedisReply) {
    cursor = reply[0].string.flatMap { $0 == "0" ? nil : $0 }
  }

  /// The users and records of a page of the hash, which has them in turn.
  private mutating func registered(of reply: RedisReply) -> MemberPage {
    advance(to: reply)
    let pairs = reply[1]
    var result = MemberPage()
    for index in stride(from: 0, to: pairs.count - 1, by: 2) {
      let user = pairs[index]
      guard user.withBytes({ seen.insert($0) }) else { continue }
      result.members.append(user)
      result.records.append(pairs[index + 1])
    }
    return result
  }
}
