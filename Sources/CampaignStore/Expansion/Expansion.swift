public import PushCore
import Redis

/// The way from an audience to the sealed targets of a slice.
public struct Expansion: StoreRoom {
  let store: CampaignStore

  /// Seals targets once more under the claim that had sealed them: Redis has lost it, and perhaps departures as well.
  ///
  /// - Returns: whether they are sealed now; not when another has the claim.
  public func restore(_ targets: SealedTargets, of ledger: SliceLedger) async throws -> Bool {
    var pipeline = RedisPipeline()
    ledger.append(targets, to: &pipeline)
    ledger.append(targets.control, to: &pipeline)
    ledger.seal(
      count: targets.count, pages: targets.ends.count, control: targets.control, times: targets.times,
      departures: nil, variants: targets.variants, audience: targets.audience, to: &pipeline)
    return try await run(pipeline).last?.integer == 1
  }

  /// Expands a slice that is not sealed.
  ///
  /// - Parameters:
  ///   - quota: how many users it takes at most, those seen last; `nil` for all.
  ///   - now: ms since the epoch, more or less: whose quiet hours it is.
  ///   - departures: from the partition, as the claim said.
  /// - Returns: the targets, or `nil` when the claim was lost on the way.
  public func expand(
    _ ledger: SliceLedger, of campaign: Campaign, filter: DeviceFilter, quota: Int? = nil, now: Int = 0,
    departures: Int = 0
  ) async throws -> SealedTargets? {
    var builder = TargetBuilder(ledger: ledger, filter: filter, quota: quota, now: now)
    builder.note(departures: departures)
    let source = source(of: campaign, start: filter.start, in: ledger.slice.partition)
    let rest = try await walk(source, in: ledger.slice.partition, reading: filter.asks) {
      page, pipeline in
      if case .tokens = source { builder.add(tokens: page.members) } else { builder.add(page, filter: filter) }
      builder.flush(to: &pipeline)
    }
    guard var rest else { return nil }
    builder.seal(to: &rest)
    return try await run(rest).last?.integer == 1 ? builder.targets : nil
  }

  /// Whose members the audience of a campaign has in a partition.
  ///
  /// - Parameter start: when it began, in ms since the epoch.
  func source(of campaign: Campaign, start: Int, in partition: Int) -> MemberSource {
    AudienceSearch(campaign, start: start).map { .users($0) } ?? .tokens(keys.audience(partition, campaign.whole))
  }

  /// Walks over the users of one partition for whom an expression holds, with their devices.
  func forEachUser(
    of search: AudienceSearch, in partition: Int, reading reads: UserReads = UserReads(),
    _ body: (MemberPage) throws -> Void
  ) async throws {
    _ = try await walk(.users(search), in: partition, reading: reads) { page, _ in try body(page) }
  }

  /// Walks over the members of an audience. One round trip a page: what `body` writes goes with the next reads.
  ///
  /// - Parameters:
  ///   - source: whose they are.
  ///   - partition: where.
  ///   - reads: what is wanted of users beside their devices.
  ///   - body: gets each page. What it adds to the pipeline are steps of an expansion; one that is refused ends the walk.
  /// - Returns: what `body` has added and nobody has run yet; `nil` when a step was refused.
  private func walk(
    _ source: MemberSource, in partition: Int, reading reads: UserReads,
    _ body: (MemberPage, inout RedisPipeline) throws -> Void
  ) async throws -> RedisPipeline? {
    var members = MemberWalk(source, in: partition, reading: reads, keys)
    var pipeline = RedisPipeline()
    var steps = 0
    while !members.isOver {
      let written = pipeline.count
      members.read(to: &pipeline)
      let replies = pipeline.isEmpty ? [] : try await run(pipeline)
      pipeline.removeAll()
      if replies.prefix(steps).contains(where: SliceLedger.isRefused) { return nil }
      let page = members.receive(replies[written...])
      if !page.isEmpty { try body(page, &pipeline) }
      steps = pipeline.count
    }
    return pipeline
  }
}
