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

  /// Removes a user's devices with what is known of them, attributes, memberships, receipts, plain results, and entries of
  /// the feedback list. Doing it again does no harm, and finds what came meanwhile.
  ///
  /// What the ledgers of campaigns have of pushes that were sent stays until their `ttl` has passed: it says that nothing
  /// is sent twice. A user on the list of a campaign that was not expanded yet is not sent to.
  public func forget(_ user: String) async throws -> Forgotten {
    var forgotten = Forgotten()
    // First what would bring the user into a campaign.
    (forgotten.segments, forgotten.suppression) = try await lists(of: user)
    let partition = Partition.of(user: user, count: keys.partitions)
    var pipeline = RedisPipeline()
    for name in try await userLists() { pipeline.append("SREM", keys.segment(partition, name), user) }
    let record = try await self.user(user)
    let devices = record?.devices ?? []
    if !pipeline.isEmpty { _ = try await run(pipeline) }
    let gone = try await edit(
      devices.map {
        DeviceEdit(
          user: user, token: OwnedToken($0.token, $0.service), action: .prune, instant: Self.endOfTime)
      })
    forgotten.devices = gone.count { $0 }
    // An import may have left attributes without a device.
    pipeline.removeAll()
    pipeline.append("HDEL", keys.attributes(partition), user)
    pipeline.append("SREM", keys.users(partition), user)
    _ = try await run(pipeline)
    forgotten.campaigns = try await forget(user, devices)
    forgotten.feedback = try await forgetFeedback(of: user)
    return forgotten
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
