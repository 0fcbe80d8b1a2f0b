public import PushCore
import Redis

/// What was known of a user who is known no more.
public struct Forgotten: Sendable, Equatable {
  public var devices = 0
  /// Segments that the user was in.
  public var segments: [String] = []
  /// Suppression lists that the user was on.
  public var suppression: [SuppressionList] = []
  /// Campaigns that had the user on their list, or knew what the user did with them, or kept plain results.
  public var campaigns = 0
  /// Entries of the feedback list.
  public var feedback = 0

  /// Whether there was nothing.
  public var isNothing: Bool { self == Forgotten() }
}

/// Everything of a user, everywhere.
extension CampaignStore {
  /// Campaigns that are looked at in one pipeline: of each the sets of one partition.
  private static let forgetPage = 50
  /// Entries of the feedback list that are read at once.
  private static let feedbackPage = 500

  /// Lists of users from which a user is taken with one call of a script.
  private static let listsAtOnce = 100

  /// Removes a user's devices with what is known of them, attributes, memberships, receipts, plain results, and entries of
  /// the feedback list. Doing it again does no harm, and finds what came meanwhile.
  ///
  /// A digest of the user is kept for 30 days, so that what was said before and arrives later brings nothing back.
  ///
  /// What the ledgers of campaigns have of pushes that were sent stays until their `ttl` has passed: it says that nothing
  /// is sent twice. A user on the list of a campaign that was not expanded yet is not sent to.
  public func forget(_ user: String) async throws -> Forgotten {
    try await forget(user, at: nil)
  }

  /// - Parameter instant: ms since the epoch, at most Redis' clock; what was said later stays. `nil` for now.
  func forget(_ user: String, at instant: Int?) async throws -> Forgotten {
    var forgotten = Forgotten()
    let lists = try await userLists()
    (forgotten.segments, forgotten.suppression) = try await self.lists(of: user)
    // First the segments, which would bring the user into a campaign. From then on nothing older is entered.
    let instant = try await erase(user, from: lists.filter { SuppressionList(segment: $0) == nil }, at: instant)
    let devices = try await self.user(user)?.devices ?? []
    let removals = devices.map {
      DeviceEdit(user: user, token: OwnedToken($0.token, $0.service), action: .erase, instant: instant)
    }
    // The record goes last: whoever repeats this finds the tokens there.
    try await unbind(removals)
    forgotten.devices = try await apply(removals).count { $0 == .changed }
    // Only now the suppression lists: a user on none of them must have no device to which a sealed target can be sent.
    _ = try await erase(user, from: lists.filter { SuppressionList(segment: $0) != nil }, at: instant)
    forgotten.campaigns = try await forget(user, devices)
    forgotten.feedback = try await forgetFeedback(of: user)
    return forgotten
  }

  /// Removes what is known of a user besides devices, and remembers that.
  ///
  /// - Parameter names: The segments and suppression lists from which the user is taken.
  /// - Returns: when the user was erased.
  private func erase(_ user: String, from names: [String], at instant: Int?) async throws -> Int {
    let partition = Partition.of(user: user, count: keys.partitions)
    var instant = instant
    for start in stride(from: 0, to: max(1, names.count), by: Self.listsAtOnce) {
      let page = names[min(start, names.count)..<min(start + Self.listsAtOnce, names.count)]
      var pipeline = RedisPipeline()
      pipeline.script(
        StoreScripts.eraseUser,
        keys: [
          keys.erased(partition), keys.attributes(partition), keys.pressure(partition), keys.retained(partition),
          keys.users(partition),
        ] + page.flatMap { [keys.segment(partition, $0), keys.stated(partition, $0)] }
      ) {
        $0.append(user)
        if let instant { $0.append(instant) } else { $0.append("") }
      }
      instant = try await run(pipeline)[0].integer
    }
    return instant ?? 0
  }

  /// Forgets what a partition remembers only so that statements can arrive late, some at a time.
  ///
  /// - Returns: how much was forgotten.
  @discardableResult
  public func forgetOldStatements(in partition: Int) async throws -> Int {
    let names = try await userLists()
    var forgotten = 0
    for _ in 0..<Self.mostForgettingCalls {
      let now = try await forgetSome(in: partition, names)
      forgotten += now
      if now < Self.batch { break }
    }
    return forgotten
  }

  /// Calls by which one partition forgets at most, each some hundred statements of a kind.
  private static let mostForgettingCalls = 8

  private func forgetSome(in partition: Int, _ names: [String]) async throws -> Int {
    var pipeline = RedisPipeline()
    for start in stride(from: 0, to: max(1, names.count), by: Self.listsAtOnce) {
      let page = names[min(start, names.count)..<min(start + Self.listsAtOnce, names.count)]
      pipeline.script(
        StoreScripts.forget,
        keys: [
          keys.removals(partition), keys.erased(partition), keys.retained(partition), keys.users(partition),
          keys.attributes(partition), keys.pressure(partition),
        ] + page.map { keys.stated(partition, $0) }
      ) {
        $0.append(Self.memory)
        $0.append(Self.batch)
      }
    }
    return try await run(pipeline).reduce(0) { $0 + ($1.integer ?? 0) }
  }

  /// Removes a user from what campaigns keep in sets and hashes.
  ///
  /// - Returns: how many campaigns had anything.
  private func forget(_ user: String, _ devices: [DeviceRecord]) async throws -> Int {
    var (count, place) = (0, 0)
    while true {
      var pipeline = RedisPipeline()
      pipeline.append("ZRANGE", keys.all, place, place + Self.forgetPage - 1)
      let ids = try await run(pipeline)[0].compactMap(\.string)
      guard !ids.isEmpty else { return count }
      place += ids.count
      pipeline.removeAll()
      for id in ids { pipeline.append("HGET", keys.campaign(id), "partitions") }
      // As many as when the campaign began: its sets stay where they were.
      let partitions = try await run(pipeline).map { $0.integer ?? keys.partitions }
      pipeline.removeAll()
      var commands: [Int] = []
      for (id, partitions) in zip(ids, partitions) {
        let before = pipeline.count
        let partition = Partition.of(user: user, count: max(1, partitions))
        pipeline.append("SREM", keys.audience(partition, id), user)
        pipeline.append("HDEL", keys.values(partition, id), user)
        for kind in ReceiptEvent.Kind.allCases { pipeline.append("SREM", keys.receipts(partition, kind, id), user) }
        let tokens = devices.compactMap { device in
          DeviceToken(bytes: device.token).flatMap { services[device.service]?.text(of: $0) }
        }
        if !tokens.isEmpty {
          pipeline.command("HDEL") { arguments in
            arguments.append(keys.results(partition, id))
            for token in tokens { arguments.append(token) }
          }
        }
        commands.append(pipeline.count - before)
      }
      var replies = try await run(pipeline)[...]
      for length in commands {
        if replies.prefix(length).contains(where: { $0.integer ?? 0 > 0 }) { count += 1 }
        replies = replies.dropFirst(length)
      }
    }
  }

  /// Removes a user's tokens from the feedback list.
  private func forgetFeedback(of user: String) async throws -> Int {
    var (count, place) = (0, 0)
    while true {
      var pipeline = RedisPipeline()
      pipeline.append("LRANGE", keys.feedback, place, place + Self.feedbackPage - 1)
      let page = try await run(pipeline)[0].compactMap { $0.bytes.map(Array.init) }
      guard !page.isEmpty else { return count }
      let entries = Set(page.filter { Self.user(ofFeedback: $0) == user })
      place += page.count
      guard !entries.isEmpty else { continue }
      pipeline.removeAll()
      for entry in entries { pipeline.append("LREM", keys.feedback, 0, entry) }
      let removed = try await run(pipeline).reduce(0) { $0 + ($1.integer ?? 0) }
      count += removed
      place = max(0, place - removed)
    }
  }

  private static func user(ofFeedback entry: [UInt8]) -> String? {
    guard let value = try? JSONValue(parsing: entry, maximumDepth: 4), case .object(let members) = value.kind,
      case .string(let user)? = members.value("user")?.kind
    else { return nil }
    return user
  }
}
