import PushCore
import Redis

/// Checks keys by their names: their type, their owner, and their expiry.
extension StoreCheck {
  /// The objects of the store, as the names of the keys show them.
  struct Names {
    /// The segments, each with one of its keys.
    var segments: [String: String] = [:]
    var campaigns: Set<String> = []
    /// Campaigns with a key of a wrong type. The check reports nothing else about them.
    var unreadableCampaigns: Set<String> = []
    var unreadableSlices: Set<SliceReference> = []
    var unreadablePartitions: Set<Int> = []
    /// Whether a key with segments or templates has a wrong type.
    var isCatalogUnreadable = false
    /// Whether a key that all checks need has a wrong type.
    var isUnreadable = false

    /// Returns whether the reported wrong type of a key explains an error.
    func explain(_ error: StoreError) -> Bool {
      switch error.damage {
      case .partition(let partition)?: unreadablePartitions.contains(partition)
      case .catalog?: isCatalogUnreadable
      default: false
      }
    }
  }

  /// A key and the parts of its name.
  private struct Named {
    var name: String
    var kind: String
    var rest: String
    var isControl: Bool

    /// The campaign's id, if the key belongs to a campaign.
    var campaign: String? {
      guard !rest.isEmpty else { return nil }
      let ofCampaign: Set<String> =
        isControl
        ? ["campaign", "finished", "open", "trial", "watch", "ranking", "timeline"]
        : [
          "slice", "targets", "control", "ledger", "retry", "reasons", "results", "audience", "values",
          "delivered",
          "opened",
          "dismissed",
        ]
      return ofCampaign.contains(kind) ? rest : nil
    }

    /// Seconds until the key should expire; `nil` if it may stay.
    var lifetime: Int? {
      switch (isControl, kind) {
      case (true, "job"), (true, "submitter"): Queue.idMemory
      case (true, "import"), (true, "aside"): 7 * 86400
      // The bucket of a campaign that ends at a known time must stay until then. A new bucket would grant a burst
      // again.
      case (true, "rate"): RateBucket.longestMemory
      case (true, "apprate"), (true, "backendrate"): RateBucket.shortestMemory
      case (true, "quota"): RateBucket.quotaMemory
      case (true, "waiting"), (true, "declines"), (true, "failover"), (true, "housekeeper"): 60
      case (false, "building"): 3600
      case (false, "importing"), (false, "arrivals"): SegmentReplacement.timeToLive
      default: nil
      }
    }
  }

  /// Checks the names, types and expiry of all keys of the store.
  mutating func keys(_ found: ([StoreFinding]) throws -> Void) async throws -> Names {
    var names = Names()
    var count = 0
    for home in try await homes() {
      // The namespace has no special character of a glob pattern. SCAN has no key, so the client sends it to the server
      // of the command before it.
      try await forEachPage(with: home) {
        $1.append("SCAN", $0, "MATCH", "{\(self.keys.namespace)[:}]*", "COUNT", CampaignStore.batch)
      } _: { page in
        count += page.count
        try found(try await check(page.compactMap(\.string), &names))
      }
    }
    tally.keys = count
    let segments = names.segments
    try await runCheck(names, found) { check in try await check.unlistedSegments(among: segments) }
    return names
  }

  /// Returns one key for each server, because a cluster has several servers.
  private func homes() async throws -> [String] {
    try await store.identify().compactMap { server in
      if server.hasControl { return keys.store }
      return (0..<keys.partitions).first { server.has(partition: $0) }.map { keys.home(of: $0) }
    }
  }

  private func check(_ page: [String], _ names: inout Names) async throws -> [StoreFinding] {
    var pipeline = RedisPipeline()
    for name in page {
      pipeline.append("TYPE", name)
      pipeline.append("TTL", name)
    }
    guard !pipeline.isEmpty else { return [] }
    let replies = try await store.run(pipeline)
    var findings: [StoreFinding] = []
    var nonExpiring: [Named] = []
    var suspects: [Named] = []
    for (index, name) in page.enumerated() {
      let (type, seconds) = (replies[2 * index].string ?? "none", replies[2 * index + 1].integer ?? 0)
      guard type != "none" else { continue }
      guard let key = named(name) else {
        findings.append(open(.unknownKey, name))
        continue
      }
      if !(key.isControl && key.kind == "aside") {
        guard let stored = StoredKey(name, keys) else {
          findings.append(open(.unknownKey, name))
          continue
        }
        guard type == stored.type else {
          findings.append(await retype(stored, type, &names))
          continue
        }
      }
      if let id = key.campaign { names.campaigns.insert(id) }
      if !key.isControl, key.kind == "segment" { names.segments[key.rest] = name }
      if key.isControl, key.kind == "processing" || key.kind == "intake" { findings += try await unlisted(key) }
      guard seconds == -1 else { continue }
      if key.lifetime != nil {
        nonExpiring.append(key)
      } else if key.campaign != nil, key.kind != "campaign" {
        suspects.append(key)
      }
    }
    findings += try await expire(nonExpiring: nonExpiring)
    return try await findings + expire(orphans: suspects)
  }

  /// Splits the name of a key into its parts.
  /// - Returns: `nil` for a key outside the partitions of this store.
  private func named(_ name: String) -> Named? {
    guard let end = name.firstIndex(of: "}") else { return nil }
    let tag = name[..<end].dropFirst(keys.namespace.utf8.count + 1)
    let words = name[end...].dropFirst(2).split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
    guard let kind = words.first else { return nil }
    if !tag.isEmpty {
      guard let number = Int(tag.dropFirst()), (0..<keys.partitions).contains(number) else { return nil }
    }
    return Named(
      name: name, kind: String(kind), rest: words.count > 1 ? String(words[1]) : "", isControl: tag.isEmpty)
  }

  private func retype(_ key: StoredKey, _ type: String, _ names: inout Names) async -> StoreFinding {
    let detail = "its type is \(type), expected \(key.type)"
    switch key.damage {
    case .list where repairs:
      await store.repair.setAside(damaged: key.name)
      return finding(.wrongType, key.name, "", detail)
    case .campaign(let id): names.unreadableCampaigns.insert(id)
    case .slice(let slice): names.unreadableSlices.insert(slice)
    case .partition(let partition): names.unreadablePartitions.insert(partition)
    case .catalog: names.isCatalogUnreadable = true
    case .list, .shared: names.isUnreadable = true
    }
    if case .list = key.damage { return finding(.wrongType, key.name, "", detail) }
    return open(.wrongType, key.name, "", detail)
  }

  /// Finds the lists of workers that are not in the list of workers.
  private func unlisted(_ key: Named) async throws -> [StoreFinding] {
    // A live worker that wrongly counted as dead is not in the list until its next heartbeat.
    let left = try await twice([key]) { keys in
      try await check(listsOf: keys, repairing: false).map(\.0)
    }
    return try await check(listsOf: left, repairing: repairs).map { key, left in
      finding(.unlistedWorker, key.name, key.rest, "\(left) left")
    }
  }

  private func check(listsOf workers: [Named], repairing repairs: Bool) async throws -> [(Named, Int)] {
    var pipeline = RedisPipeline()
    for key in workers {
      pipeline.script(StoreScripts.repairWorker, keys: [keys.workers, key.name]) {
        $0.append(repairs ? 1 : 0)
        $0.append(key.rest)
      }
    }
    guard !pipeline.isEmpty else { return [] }
    return zip(workers, try await store.run(pipeline).map { $0.integer ?? 0 }).filter { $1 > 0 }
  }

  /// Finds sets of segments whose names are not in the list of segments, because an import or a removal is in progress,
  /// or was interrupted.
  func unlistedSegments(among segments: [String: String]) async throws -> [StoreFinding] {
    var findings: [StoreFinding] = []
    let names = segments.keys.sorted()
    for batch in names.batches() {
      let page = Array(batch)
      findings += try await twice(page) { names in
        var pipeline = RedisPipeline()
        for name in names {
          pipeline.append("SISMEMBER", keys.segments, name)
          pipeline.append("EXISTS", segments[name] ?? "")
        }
        let replies = try await store.run(pipeline)
        return names.indices.filter { replies[2 * $0].integer == 0 && replies[2 * $0 + 1].integer == 1 }.map {
          names[$0]
        }
      }.map { open(.unlistedSegment, keys.segments, $0) }
    }
    return findings
  }

  /// Finds keys without an expiry that should have one. The process that wrote such a key died before it could set the
  /// expiry.
  private func expire(nonExpiring keys: [Named]) async throws -> [StoreFinding] {
    let found = try await twice(keys, lasting)
    if repairs, !found.isEmpty {
      var pipeline = RedisPipeline()
      for key in found { pipeline.append("EXPIRE", key.name, key.lifetime ?? 0) }
      _ = try await store.run(pipeline)
    }
    return found.map { finding(.neverExpires, $0.name) }
  }

  private func lasting(_ keys: [Named]) async throws -> [Named] {
    var pipeline = RedisPipeline()
    for key in keys { pipeline.append("TTL", key.name) }
    return pipeline.isEmpty ? [] : zip(keys, try await store.run(pipeline)).filter { $1.integer == -1 }.map(\.0)
  }

  /// Finds keys of campaigns that no longer exist, and makes them expire after a day.
  private func expire(orphans keys: [Named]) async throws -> [StoreFinding] {
    let found = try await twice(keys) { keys in
      let gone = try await missing(among: Set(keys.compactMap(\.campaign)))
      return try await lasting(keys.filter { gone.contains($0.campaign ?? "") })
    }
    if repairs, !found.isEmpty {
      var pipeline = RedisPipeline()
      for key in found { pipeline.append("EXPIRE", key.name, Self.orphanMemory) }
      _ = try await store.run(pipeline)
      // A campaign that Redis had lost may have been activated again since the check. Its keys must stay.
      let gone = try await missing(among: Set(found.compactMap(\.campaign)))
      pipeline.removeAll()
      for key in found where !gone.contains(key.campaign ?? "") { pipeline.append("PERSIST", key.name) }
      if !pipeline.isEmpty { _ = try await store.run(pipeline) }
    }
    return found.map { finding(.orphan, $0.name, $0.campaign ?? "") }
  }

  /// Seconds for which an operator can still inspect the remaining keys of a campaign: a day.
  private static let orphanMemory = 86_400

  /// Returns the ids of missing campaigns. A worker that takes a job in writes the listed users before the campaign.
  /// The campaign of such a job does not count as missing.
  private func missing(among ids: Set<String>) async throws -> Set<String> {
    var pipeline = RedisPipeline()
    for id in ids {
      pipeline.append("EXISTS", keys.campaign(id))
      pipeline.append("STRLEN", keys.job(id))
    }
    guard !pipeline.isEmpty else { return [] }
    let replies = try await store.run(pipeline)
    return Set(
      zip(ids, stride(from: 0, to: replies.count, by: 2)).filter { _, at in
        // A value of 40 bytes is only the digest of a job: the id is reserved for the job, and the job is not
        // activated.
        replies[at].integer == 0 && replies[at + 1].integer != 40
      }.map(\.0))
  }
}
