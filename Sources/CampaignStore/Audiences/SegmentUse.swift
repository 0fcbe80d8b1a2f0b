public import PushCore
import Redis

/// Segments that campaigns include or exclude. They must exist as long as a slice may still be expanded.
///
/// An expression treats a missing segment as empty, so `fans & !churned` would match all fans. Therefore
/// ``Audiences/removeSegment(_:)`` refuses to remove a segment in use. A worker also calls
/// ``Audiences/missingSegment(of:)`` before it expands a slice: a job may be activated while its segment is being
/// removed, and other programs can write to Redis. An empty segment is not missing, because its name stays.
extension Campaign {
  /// The segments that the audience includes or excludes.
  fileprivate var namedSegments: Set<String> {
    var names = recipients.exclusion.segment?.segmentNames ?? []
    if case .segment(let expression) = recipients.audience { names.formUnion(expression.segmentNames) }
    return names
  }

  /// The lists of users that must exist when the campaign is expanded, including the lists in its rules. The rules
  /// themselves are not required, because the campaign keeps a copy of them from its start. The list of a Live Activity
  /// is not required either: a campaign can start an activity and exclude the users who already have it. Before the
  /// first token of the activity is registered, that list does not exist.
  public var requiredLists: Set<String> {
    recipients.definitions.all.values.reduce(into: namedSegments) { $0.formUnion($1.expression.segmentNames) }
      .filter { recipients.definitions[$0] == nil }
  }

  /// Returns whether the audience would change if the segment were removed.
  fileprivate func uses(_ segment: String) -> Bool {
    namedSegments.contains(segment) || requiredLists.contains(segment) || recipients.definitions[segment] != nil
  }
}

extension Audiences {
  /// Returns the first list of users that a campaign includes or excludes and that does not exist; `nil` if all exist.
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

  /// Removes a segment, which is a list of users or a rule. The users stay registered.
  ///
  /// - Returns: false if no segment has that name.
  /// - Throws: ``StoreError`` `invalid` if a rule names the segment, or a campaign that has not ended includes or
  ///   excludes it.
  public func removeSegment(_ name: String) async throws -> Bool {
    try await checkUnused(name)
    if try await undefine(name) { return true }
    try Self.checkUnused(name, try await definitions())
    // From here on, no job that names the segment is activated.
    var pipeline = RedisPipeline()
    pipeline.append("SREM", keys.segments, name)
    let isThere = try await run(pipeline)[0].integer == 1
    do {
      // This check finds campaigns that were activated after the first check. Campaigns that are activated after this
      // check are paused before they are expanded.
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
      // The removal counts as a change of every membership at the present time. An older change that arrives later
      // therefore does not add a user again.
      try await putInForce(try await replacement(of: name), keepingTimesFor: Registry.memory / 1000)
    }
    return isThere
  }

  /// Removes the users of a segment from all partitions.
  func unlinkSegment(_ name: String) async throws {
    for page in (0..<keys.partitions).batches() {
      var pipeline = RedisPipeline()
      for partition in page {
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
      .invalid, "the segment \(Excerpt.quoted(name)) is in use by campaigns that have not ended: \(named)\(more)",
      hint:
        "wait until they have ended, or cancel them: carillon campaign cancel \(first); to empty the segment instead, "
        + "import an empty file: carillon segment import \(name) FILE --replace --allow-shrink")
  }

  /// Largest number of ids in an error.
  private static let usersNamed = 10

  /// Returns the campaigns that have not ended and the waiting jobs whose audience depends on a segment, sorted.
  func campaigns(using segment: String) async throws -> [String] {
    var found: Set<String> = []
    for (outline, job) in try await store.queue.waitingJobs(containing: segment) {
      let apps = JobApps.any(services.services(ofApp: outline.app ?? ""))
      if let campaign = try? CampaignJob.parse(job, apps), campaign.uses(segment) { found.insert(outline.id) }
    }
    try await store.campaigns.forEachPage(.oldestFirst) { ids in
      var pipeline = RedisPipeline()
      for id in ids { pipeline.append("HGET", keys.campaign(id), "state") }
      let states = try await run(pipeline).map { $0.string.flatMap(CampaignState.init(rawValue:)) }
      for (id, state) in zip(ids, states) where state.map({ !$0.isFinal }) ?? false {
        guard let (record, job) = try await store.campaigns.findWithJob(id),
          let campaign = try? await record.read(job, record.apps(in: services))
        else { continue }
        if campaign.uses(segment) { found.insert(campaign.whole) }
      }
      return true
    }
    return found.sorted()
  }
}
