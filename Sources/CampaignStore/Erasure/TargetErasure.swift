import PushCore
import Redis

/// The erasure of a user from campaigns. It covers the slices in the user's partition. It also covers the slices in the
/// partitions of the user's tokens, because a job may list these tokens as raw tokens.
extension Erasure {
  /// Campaigns in one pipeline.
  private static let erasedCampaigns = 50
  /// Pages of targets in one command: about 200 kB.
  private static let erasedPages = 32

  /// Returns the partitions in which slices may have a user, or one of the tokens as a raw token.
  func partitions(of user: String, _ tokens: [Registry.OwnedToken], count: Int) -> [Int] {
    var partitions = [Partition.of(user: user, count: max(1, count))]
    for token in tokens {
      guard let service = services[token.service] else { continue }
      let partition = Partition.of(token: token.bytes, of: service, count: max(1, count))
      if !partitions.contains(partition) { partitions.append(partition) }
    }
    return partitions
  }

  /// Erases a user from all existing campaigns.
  ///
  /// - Parameters:
  ///   - pending: the erasure; the function adds the slices that a worker is building.
  ///   - only: the ids of the campaigns; `nil` for all.
  /// - Returns: the number of campaigns that had data of the user.
  func eraseFromCampaigns(_ user: String, _ pending: inout PendingErasure, only: Set<String>? = nil) async throws -> Int
  {
    var building: [SliceReference] = []
    var count = 0
    try await store.campaigns.forEachPage(.oldestFirst, of: Self.erasedCampaigns) { page in
      let ids = page.filter { only?.contains(CampaignID($0).whole) ?? true }
      guard !ids.isEmpty else { return true }
      var pipeline = RedisPipeline()
      for id in ids { pipeline.append("HGET", keys.campaign(id), "partitions") }
      for (id, reply) in zip(ids, try await run(pipeline)) {
        // Use the number of partitions at the campaign's start: the keys of a campaign stay in the partitions of that
        // time.
        let partitions = partitions(of: user, pending.tokens, count: reply.integer ?? keys.partitions)
        var changed = try await eraseFromSets(user, pending.tokens, of: id, in: partitions)
        let slices = partitions.map { SliceReference(campaign: id, partition: $0) }
        let erased = try await erase(user, pending.tokens, from: slices)
        building += erased.building
        changed = changed || erased.targets > 0
        if try await eraseFromJob(user, pending.tokens, of: id) { changed = true }
        if changed { count += 1 }
      }
      return true
    }
    pending.slices = building
    return count
  }

  /// Removes a user and the user's tokens from the audience that a job lists, and from placeholder values, receipts and
  /// result lines.
  ///
  /// - Returns: whether an entry was removed.
  private func eraseFromSets(
    _ user: String, _ tokens: [Registry.OwnedToken], of id: String, in partitions: [Int]
  ) async throws -> Bool {
    let texts = tokens.compactMap { token in
      DeviceToken(bytes: token.bytes).flatMap { services[token.service]?.text(of: $0) }
    }
    var pipeline = RedisPipeline()
    for partition in partitions {
      pipeline.append("SREM", keys.audience(partition, id), user)
      pipeline.append("HDEL", keys.values(partition, id), user)
      for kind in ReceiptEvent.Kind.allCases { pipeline.append("SREM", keys.receipts(partition, kind, id), user) }
      for token in tokens { pipeline.append("SREM", keys.audience(partition, id), token.bytes) }
      for text in texts { pipeline.append("HDEL", keys.results(partition, id), text) }
    }
    return try await run(pipeline).contains { $0.integer ?? 0 > 0 }
  }

  /// Erases a user's targets from slices.
  ///
  /// - Returns: the number of erased targets, and the slices with an unsealed list: the list may have the user, and a
  ///   seal would make it final.
  func erase(
    _ user: String, _ tokens: [Registry.OwnedToken], from slices: [SliceReference]
  ) async throws -> (targets: Int, building: [SliceReference]) {
    guard !slices.isEmpty else { return (0, []) }
    var pipeline = RedisPipeline()
    for slice in slices {
      pipeline.append(
        "HMGET", keys.slice(slice.partition, of: slice.campaign), "phase", "claim", "count", "seal", "format")
    }
    var (targets, building): (Int, [SliceReference]) = (0, [])
    for (slice, fields) in zip(slices, try await run(pipeline)) {
      let phase = fields[0].string.flatMap(SlicePhase.init(rawValue:))
      if phase == .expanding {
        if let claim = fields[1].string, try await isBuilding(slice, under: claim) { building.append(slice) }
        continue
      }
      guard phase != nil else { continue }
      try await eraseControl(user, from: slice)
      let versions = TargetPage.oldestErasableVersion...TargetPage.formatVersion
      guard let version = fields[4].integer, versions.contains(version), let count = fields[2].integer, count > 0 else {
        continue
      }
      let seal = Array(fields[3].bytes ?? [])
      targets += try await erase(user, tokens, from: slice, count: count, seal: seal)
    }
    return (targets, building)
  }

  /// Returns whether a claim has an unsealed list of targets for the slice, or for the slices of the other legs. The
  /// lists of earlier claims no longer exist, because each claim removes the lists of the claim that it replaces.
  private func isBuilding(_ slice: SliceReference, under claim: String) async throws -> Bool {
    let whole = CampaignID(slice.campaign).whole
    let parts = try await store.campaigns.find(whole)?.staging.partIDs ?? []
    var pipeline = RedisPipeline()
    pipeline.command("EXISTS") { arguments in
      for id in Set(parts + [slice.campaign]) {
        for list in keys.unsealedLists(slice.partition, id, claim: claim) { arguments.append(list) }
      }
    }
    return try await run(pipeline)[0].integer ?? 0 > 0
  }

  private func erase(
    _ user: String, _ tokens: [Registry.OwnedToken], from slice: SliceReference, count: Int, seal: [UInt8]
  ) async throws -> Int {
    let (partition, id) = (slice.partition, slice.campaign)
    let name = Array(user.utf8)
    // The results of a leg contain tokens in the form of the leg's own service.
    let service = try await store.campaigns.find(id).flatMap { services[$0.service] }
    let pages = TargetPage.pages(of: 0..<count)
    var erased = 0
    for first in stride(from: 0, through: pages.upperBound, by: Self.erasedPages) {
      var pipeline = RedisPipeline()
      pipeline.append("LRANGE", keys.targets(partition, id), first, first + Self.erasedPages - 1)
      let read = try await run(pipeline)[0]
      pipeline.removeAll()
      for (offset, page) in read.enumerated() {
        var chunk = TargetChunk(first: 0, capacity: TargetPage.size)
        page.withBytes { chunk.append(page: $0) }
        let found = chunk.places.indices.filter { position in
          let its = chunk.user(position)
          return its.isEmpty
            ? tokens.contains { $0.bytes.elementsEqual(chunk.token(position)) } : its.elementsEqual(name)
        }
        guard !found.isEmpty else { continue }
        pipeline.script(
          StoreScripts.blank,
          keys: [
            keys.slice(partition, of: id), keys.targets(partition, id), keys.results(partition, id),
            keys.recipients(partition, id),
          ]
        ) { arguments in
          arguments.append(seal)
          arguments.append(first + offset)
          arguments.append(TargetPage.size)
          arguments.append(TargetPage.formatVersion)
          arguments.append(name)
          arguments.append(tokens.count)
          for token in tokens { arguments.append(token.bytes) }
          for position in found {
            guard let token = DeviceToken(bytes: chunk.token(position)), let service else { continue }
            arguments.append(service.text(of: token))
          }
        }
      }
      if !pipeline.isEmpty { erased += try await run(pipeline).reduce(0) { $0 + ($1.integer ?? 0) } }
    }
    return erased
  }

  /// Erases a user from the control group of a slice.
  private func eraseControl(_ user: String, from slice: SliceReference) async throws {
    let key = keys.control(slice.partition, slice.campaign)
    var first = 0
    while true {
      var pipeline = RedisPipeline()
      pipeline.append("LRANGE", key, first, first + Expansion.controlPages - 1)
      let pages = try await run(pipeline)[0]
      pipeline.removeAll()
      for (offset, page) in pages.enumerated() where page.withBytes(ControlUsers.users).contains(user) {
        pipeline.script(StoreScripts.blankControl, keys: [key]) {
          $0.append(first + offset)
          $0.append(user)
        }
      }
      if !pipeline.isEmpty { _ = try await run(pipeline) }
      guard pages.count == Expansion.controlPages else { return }
      first += pages.count
    }
  }
}
