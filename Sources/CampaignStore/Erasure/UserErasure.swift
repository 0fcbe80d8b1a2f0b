public import PushCore
import Redis

/// The data that an erasure has removed.
public struct ErasureSummary: Sendable, Equatable {
  public var devices = 0
  /// Segments that contained the user.
  public var segments: [String] = []
  /// Suppression lists that contained the user.
  public var suppression: [SuppressionList] = []
  /// Campaigns whose job listed the user, or that had targets, receipts or result lines of the user.
  public var campaigns = 0
  /// Removed entries of the feedback list.
  public var feedback = 0
  /// Time at which the erasure will be complete at the latest, in ms since the epoch; `nil` if it is complete.
  public var completeBy: Int?

  /// Whether the user had no data.
  public var isNothing: Bool { self == ErasureSummary() }
}

/// Erases all data of a user.
extension Erasure {
  /// Entries in a page of the feedback list.
  private static let feedbackPage = 500

  /// Largest number of lists from which one call of a script removes a user.
  private static let listsPerBatch = 100

  /// Erases a user: devices, attributes, memberships, receipts, results, entries of the feedback list and of the event
  /// stream, and the user's targets in running and ended campaigns. Counters do not change. A repeated call is safe.
  ///
  /// Redis stores a digest of the user for 30 days. During this time, data about the user from before the erasure
  /// changes nothing if it arrives later. A target that waits for its push ends as `deviceGone`.
  ///
  /// The erasure is recorded before it begins. If this process ends, or a worker is reading the user into a campaign,
  /// housekeeping completes the erasure (``finishErasures()``).
  public func erase(_ user: String) async throws -> ErasureSummary {
    try await erase(user, at: nil)
  }

  /// Erases the data of a user up to an instant.
  /// - Parameter instant: ms since the epoch, at most Redis' clock. Later data about the user stays. `nil` for now.
  func erase(_ user: String, at instant: Int?) async throws -> ErasureSummary {
    var erased = ErasureSummary()
    let start = try await store.time() / 1000
    var instant = instant ?? start
    let isRepeated = instant < start
    var pending = try await pendingErasure(of: user) ?? PendingErasure(at: instant)
    pending.at = max(pending.at, instant)
    pending.slices = nil
    pending.add(try await store.registry.user(user)?.devices ?? [], until: instant)
    try await save(pending, of: user)
    try await eraseFromWaitingEvents(user, pending.tokens, at: instant)
    // An event that a worker has already read must count as earlier than the erasure.
    if !isRepeated {
      instant = try await store.time() / 1000
      pending.at = max(pending.at, instant)
      pending.add(try await store.registry.user(user)?.devices ?? [], until: instant)
      try await save(pending, of: user)
    }
    (erased.segments, erased.suppression) = try await store.audiences.lists(of: user)
    // Segments come first, because a campaign could still select the user from a segment. After this step, no older
    // event can add the user to a segment again.
    let known = try await store.audiences.userLists().filter { SuppressionList(segment: $0) == nil }
    _ = try await erase(user, from: known, at: instant)
    // An older event may have created a list since the names were read.
    let lists = try await store.audiences.userLists()
    let created = Set(lists.filter { SuppressionList(segment: $0) == nil }).subtracting(known)
    if !created.isEmpty { _ = try await erase(user, from: created.sorted(), at: instant) }
    let devices = try await store.registry.user(user)?.devices ?? []
    if pending.add(devices, until: instant) { try await save(pending, of: user) }
    let removals = devices.map {
      Registry.DeviceEdit(
        user: user, token: Registry.OwnedToken($0.token, $0.service), action: .erase, instant: instant)
    }
    // The user's record is removed last, so that a repeated call still finds the tokens in it.
    try await store.registry.unbind(removals)
    erased.devices = try await store.registry.apply(removals).count { $0 == .changed }
    // The suppression lists follow after the devices. Until then, they keep workers from sending a sealed target to a
    // device of the user.
    _ = try await erase(user, from: lists.filter { SuppressionList(segment: $0) != nil }, at: instant)
    // Deliver the outboxes now. Their notices would otherwise add the user's tokens to the feedback list later.
    try await store.results.deliverFeedback(from: partitions(of: user, pending.tokens, count: keys.partitions))
    // From here on, a worker that takes in one of these jobs removes the user from it.
    pending.jobs = try await waitingJobs(naming: user, pending.tokens)
    if !pending.jobs.isEmpty { try await save(pending, of: user) }
    erased.campaigns = try await eraseFromCampaigns(user, &pending)
    erased.feedback = try await forgetFeedback(of: user)
    try await eraseFromEvents(user, pending.tokens)
    try await eraseFromDeadList(user, pending.tokens)
    if !(try await saveProgress(pending, of: user)) { erased.completeBy = start + PendingErasure.longest * 1000 }
    return erased
  }

  /// Removes the data of a user except devices, and records the erasure.
  ///
  /// - Parameter names: segments and suppression lists from which the user is removed.
  /// - Returns: the time of the erasure.
  private func erase(_ user: String, from names: [String], at instant: Int?) async throws -> Int {
    let partition = Partition.of(user: user, count: keys.partitions)
    var instant = instant
    for start in stride(from: 0, to: max(1, names.count), by: Self.listsPerBatch) {
      let page = names[min(start, names.count)..<min(start + Self.listsPerBatch, names.count)]
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
      for name in page where SuppressionList(segment: name) != nil {
        pipeline.append("ZREM", keys.arrivals(partition, name), user)
      }
      instant = try await run(pipeline)[0].integer
    }
    return instant ?? 0
  }

  /// Removes a bounded number of the entries that a partition keeps only to detect outdated events.
  ///
  /// - Returns: the number of removed entries.
  @discardableResult
  public func forgetOldStatements(in partition: Int) async throws -> Int {
    let names = try await store.audiences.userLists()
    var erased = 0
    for _ in 0..<Self.maximumForgettingCalls {
      let now = try await forgetSome(in: partition, names)
      erased += now
      if now < CampaignStore.batch { break }
    }
    return erased
  }

  /// Largest number of script calls for one partition. Each call removes some hundred entries of each kind.
  private static let maximumForgettingCalls = 8

  private func forgetSome(in partition: Int, _ names: [String]) async throws -> Int {
    var pipeline = RedisPipeline()
    for start in stride(from: 0, to: max(1, names.count), by: Self.listsPerBatch) {
      let page = names[min(start, names.count)..<min(start + Self.listsPerBatch, names.count)]
      pipeline.script(
        StoreScripts.forget,
        keys: [
          keys.removals(partition), keys.erased(partition), keys.retained(partition), keys.users(partition),
          keys.attributes(partition), keys.pressure(partition),
        ] + page.map { keys.stated(partition, $0) }
      ) {
        $0.append(Registry.memory)
        $0.append(CampaignStore.batch)
      }
    }
    return try await run(pipeline).reduce(0) { $0 + ($1.integer ?? 0) }
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
