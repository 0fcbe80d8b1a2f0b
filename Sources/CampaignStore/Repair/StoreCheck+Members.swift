import PushCore
import Redis

/// Checks lists of users for ids in the form of an older version (``OldIdentifier``).
///
/// A user who has opted out must count as opted out at every moment. The order of the steps ensures this. First,
/// ``addPresentForms(to:in:)`` adds the present forms of the ids to every list. Then, `StoreCheck+Renames.swift` moves
/// devices to the present forms. Finally, ``members(of:in:)`` removes the old forms. Each step can be repeated, so the
/// next check completes a repair whose process died.
extension StoreCheck {
  /// Returns the names of lists of users, suppression lists first.
  static func optOutsFirst(_ lists: some Collection<String>) -> [String] {
    lists.sorted {
      (SuppressionList(segment: $0) == nil ? 1 : 0, $0) < (SuppressionList(segment: $1) == nil ? 1 : 0, $1)
    }
  }

  /// Adds the present forms of a partition's members to their lists.
  func addPresentForms(to lists: [String], in partition: Int) async throws {
    for list in lists {
      try await forEachMember(of: keys.segment(partition, list)) { members in
        let old = OldIdentifier.all(in: members).filter { $0.present != nil }
        if !old.isEmpty { try await enter(old, into: list, from: partition) }
      }
    }
  }

  /// Finds members in an old form. Removes those who have no device and whose present form is in the list.
  mutating func members(of lists: [String], in partition: Int) async throws -> [StoreFinding] {
    var findings: [StoreFinding] = []
    for list in lists {
      let key = keys.segment(partition, list)
      try await forEachMember(of: key) { members in
        let old = OldIdentifier.all(in: members)
        guard !old.isEmpty else { return }
        let movable = old.filter { $0.present != nil }
        // A process of an older version may have added members since the first pass.
        if repairs, !movable.isEmpty { try await enter(movable, into: list, from: partition) }
        let isGone = repairs ? try await remove(movable.map(\.stored), from: list, in: partition) : []
        findings += old.filter { $0.present == nil }.map { open(.unusableID, key, $0.stored, $0.problem(in: list)) }
        for (index, member) in movable.enumerated() {
          let isRepaired = !repairs || isGone[index]
          findings.append(
            (isRepaired ? finding : open)(.unnormalizedMember, key, member.stored, member.problem(in: list)))
        }
      }
    }
    return findings
  }

  /// Adds ids in their present form to a list, with the times at which the old forms became members.
  private func enter(_ old: [OldIdentifier], into list: String, from partition: Int) async throws {
    var pipeline = RedisPipeline()
    pipeline.command("SMISMEMBER") { arguments in
      arguments.append(keys.segment(partition, list))
      for member in old { arguments.append(member.stored) }
    }
    pipeline.command("ZMSCORE") { arguments in
      arguments.append(keys.stated(partition, list))
      arguments.append("")
      for member in old { arguments.append(member.stored) }
    }
    let replies = try await store.run(pipeline)
    let times = replies[1].map { $0.string.flatMap { Double($0) }.map { Int($0) } }
    guard times.count == old.count + 1 else { return }
    // The time when each user became a member; `nil` if the time is no longer stored. If an id has several old forms,
    // the latest time counts.
    var since: [String: (at: Int?, isOwn: Bool)] = [:]
    for (index, member) in old.enumerated() where replies[0][index].integer == 1 {
      guard let user = member.present else { continue }
      let (own, whole) = (times[index + 1], times[0])
      let at = [own, whole].compactMap { $0 }.max()
      if let known = since[user], (known.at ?? -1) >= (at ?? -1) { continue }
      since[user] = (at, own != nil && own == at)
    }
    pipeline.removeAll()
    store.audiences.forEachGroup(of: Array(since.keys)) { place, group in
      pipeline.script(
        StoreScripts.repairMembers,
        keys: [keys.segment(place, list), keys.stated(place, list), keys.erased(place)]
          + store.audiences.suppressionKeys(place, list)
      ) {
        $0.append(Audiences.memberWins(in: list) ? 1 : 0)
        $0.append(Registry.memory)
        for user in group {
          $0.append(user)
          if let at = since[user]?.at { $0.append(at) } else { $0.append("") }
          $0.append(since[user]?.isOwn == true ? 1 : 0)
        }
      }
    }
    if !pipeline.isEmpty { _ = try await store.run(pipeline) }
  }

  /// Removes old forms from a list.
  /// - Returns: whether each member was removed.
  private func remove(_ members: [String], from list: String, in partition: Int) async throws -> [Bool] {
    var keys = [
      self.keys.devices(partition), self.keys.segment(partition, list), self.keys.stated(partition, list),
    ]
    if SuppressionList(segment: list) != nil { keys.append(self.keys.arrivals(partition, list)) }
    var pipeline = RedisPipeline()
    for page in members.batches() {
      pipeline.script(StoreScripts.repairList, keys: keys) {
        for member in page { $0.append(member) }
      }
    }
    guard !pipeline.isEmpty else { return [] }
    return try await store.run(pipeline).flatMap { reply in reply.map { $0.integer == 1 } }
  }
}
