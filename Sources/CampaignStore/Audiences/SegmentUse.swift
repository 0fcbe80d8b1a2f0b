public import PushCore
import Redis

/// Segments that campaigns name or exclude: they must stay for as long as a slice may still be expanded.
///
/// A segment that is gone counts as empty where an expression is evaluated, so `fans & !churned` would mean all fans. Hence
/// ``Audiences/removeSegment(_:)`` refuses to remove a segment that is in use, and a worker that is about to expand a
/// slice asks ``Audiences/missingSegment(of:)``: a job may be taken in while its segment is being removed, and others
/// can write to Redis. A segment without members is no such case: its name stays.
extension Campaign {
  /// The segments that its audience names or excludes.
  fileprivate var namedSegments: Set<String> {
    var names = recipients.exclusion.segment?.segmentNames ?? []
    if case .segment(let expression) = recipients.audience { names.formUnion(expression.segmentNames) }
    return names
  }

  /// The lists of users that must exist when it is expanded: what it names or excludes, by its rules too. It keeps the
  /// rules themselves as they were when it began. A Live Activity is no such list: before its first token has registered,
  /// which a start that excludes it comes before, nobody has it.
  public var requiredLists: Set<String> {
    recipients.definitions.all.values.reduce(into: namedSegments) { $0.formUnion($1.expression.segmentNames) }
      .filter { recipients.definitions[$0] == nil }
  }

  /// Whether removing a segment would change whom it means.
  fileprivate func uses(_ segment: String) -> Bool {
    namedSegments.contains(segment) || requiredLists.contains(segment) || recipients.definitions[segment] != nil
  }
}

extension Audiences {
  /// Returns the first list of users that a campaign names or excludes and that does not exist; `nil` when all do.
  public func missingSegment(of campaign: Campaign) async throws -> String? {
    let names = campaign.requiredLists.sorted()
    guard !names.isEmpty else { return nil }
    var pipeline = RedisPipeline()
    pipeline.command("SMISMEMBER") { arguments in
      arguments.append(keys.segments)
      for name in names { arguments.append(name) }
    }
    return zip(names, try await run(pipeline)[0]).first { $1.integer == 0 }?.0
  }

  /// Removes a segment, be it a list of users, who stay, or a rule.
  ///
  /// - Returns: false when there was none of that name.
  /// - Throws: ``StoreError`` `invalid` when another segment is defined by it, or a campaign that has not ended names or
  ///   excludes it.
  public func removeSegment(_ name: String) async throws -> Bool {
    try await checkUnused(name)
    if try await undefine(name) { return true }
    try Self.checkUnused(name, try await definitions())
    // From here on no job that names it is taken in.
    var pipeline = RedisPipeline()
    pipeline.append("SREM", keys.segments, name)
    let isThere = try await run(pipeline)[0].integer == 1
    do {
      // Of those that were taken in since the first look; what comes later is paused before it is expanded.
      try await checkUnused(name)
    } catch {
      if isThere {
        pipeline.removeAll()
        pipeline.append("SADD", keys.segments, name)
        _ = try await run(pipeline)
      }
      throw error
    }
    if isThere {
      // A statement about the whole list: an older statement about a user, which arrives later, brings nobody back.
      try await putInForce(try await replacement(of: name), keepingTimesFor: Registry.memory / 1000)
    }
    return isThere
  }

  /// Removes the users of a segment from all partitions.
  func unlinkSegment(_ name: String) async throws {
    for start in stride(from: 0, to: keys.partitions, by: CampaignStore.batch) {
      var pipeline = RedisPipeline()
      for partition in start..<min(start + CampaignStore.batch, keys.partitions) {
        pipeline.append("UNLINK", keys.segment(partition, name))
      }
      _ = try await run(pipeline)
    }
  }

  /// Refuses to remove a segment that campaigns need.
  private func checkUnused(_ name: String) async throws {
    let users = try await campaigns(using: name)
    guard let first = users.first else { return }
    let named = users.prefix(Self.usersNamed).joined(separator: ", ")
    let more = users.count > Self.usersNamed ? " and \(users.count - Self.usersNamed) more" : ""
    throw StoreError(
      .invalid, "the segment \(Excerpt.quoted(name)) is named by campaigns that have not ended: \(named)\(more)",
      hint:
        "wait until they have ended, or cancel them: carillon campaign cancel \(first); to empty the segment instead, "
        + "import an empty file: carillon segment import \(name) FILE --replace --allow-shrink")
  }

  /// Ids in an error at most.
  private static let usersNamed = 10

  /// The campaigns that have not ended and jobs that wait whose audience depends on a segment, sorted.
  func campaigns(using segment: String) async throws -> [String] {
    var found: Set<String> = []
    for (outline, job) in try await store.queue.waitingJobs(containing: segment) {
      let service = services.service(ofApp: outline.app ?? "")
      if let campaign = try? CampaignJob.parse(job, .any(service)), campaign.uses(segment) { found.insert(outline.id) }
    }
    var first = 0
    while true {
      var pipeline = RedisPipeline()
      pipeline.append("ZRANGE", keys.all, first, first + CampaignStore.batch - 1)
      let ids = try await run(pipeline)[0].compactMap(\.string)
      guard !ids.isEmpty else { return found.sorted() }
      pipeline.removeAll()
      for id in ids { pipeline.append("HGET", keys.campaign(id), "state") }
      let states = try await run(pipeline).map { $0.string.flatMap(CampaignState.init(rawValue:)) }
      for (id, state) in zip(ids, states) where state.map({ !$0.isFinal }) ?? false {
        guard let (record, job) = try await store.campaigns.findWithJob(id),
          let campaign = try? record.campaign(job, .any(services.service(ofApp: record.app)))
        else { continue }
        if campaign.uses(segment) { found.insert(campaign.whole) }
      }
      first += ids.count
    }
  }
}
