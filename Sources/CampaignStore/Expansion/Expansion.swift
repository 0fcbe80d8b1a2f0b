public import PushCore
import Redis

/// Expansion: turns an audience into the sealed targets of a slice.
public struct Expansion: StoreRoom {
  let store: CampaignStore

  /// Restores a sealed list that Redis has lost: writes the targets again and seals them under the same claim. All
  /// targets of the slice are then checked again before their grants, because Redis may also have lost departures
  /// (`departures.lua`).
  ///
  /// - Returns: whether the targets are sealed now; false if another worker has the claim.
  public func restore(_ targets: SealedTargets, of ledger: SliceLedger) async throws -> Bool {
    var pipeline = RedisPipeline()
    let siblings = targets.siblings.map { (ledger: ledger.sibling($0.campaign), targets: $0.targets) }
    for (sibling, _) in siblings { sibling.beginBuilding(to: &pipeline) }
    for (ledger, targets) in [(ledger, targets)] + siblings {
      ledger.append(targets, to: &pipeline)
      ledger.append(targets.control, to: &pipeline)
    }
    ledger.seal(
      SliceSeal(targets, departures: nil),
      siblings: siblings.map { ($0.ledger, SliceSeal($0.targets, departures: nil)) }, to: &pipeline)
    return try await run(pipeline).last?.integer == 1
  }

  /// Expands a slice that is not sealed, and in the same step the slices of the campaign's other legs in the partition.
  ///
  /// - Parameters:
  ///   - quota: the maximum number of users; if more match, those seen last are selected. `nil` for all.
  ///   - now: approximate time in ms since the epoch, for quiet hours.
  ///   - departures: the number of the partition's departures that the claim returned.
  /// - Returns: the targets, or `nil` if the claim was lost during the expansion, or if the expansion of another leg
  ///   has sealed the slice.
  public func expand(
    _ ledger: SliceLedger, of campaign: Campaign, filter: DeviceFilter, quota: Int? = nil, now: Int = 0,
    departures: Int = 0
  ) async throws -> SealedTargets? {
    var builder = TargetBuilder(ledger: ledger, filter: filter, quota: quota, now: now)
    builder.set(departures: departures)
    let source = source(of: campaign, start: filter.start, in: ledger.slice.partition)
    let rest = try await walk(source, in: ledger.slice.partition, reading: filter.asks) {
      page, pipeline in
      if case .tokens = source { builder.add(tokens: page.members) } else { builder.add(page, filter: filter) }
      builder.flush(to: &pipeline)
    }
    guard var rest else {
      // Remove the unsealed lists, because they contain users and tokens. An erasure does not search the lists of a
      // former claim.
      var pipeline = RedisPipeline()
      ledger.removeLists(to: &pipeline)
      _ = try await run(pipeline)
      return nil
    }
    builder.seal(to: &rest)
    return try await run(rest).last?.integer == 1 ? builder.targets : nil
  }

  /// Returns the source of the audience's members in a partition.
  ///
  /// - Parameter start: the start of the campaign, in ms since the epoch.
  func source(of campaign: Campaign, start: Int, in partition: Int) -> MemberSource {
    AudienceSearch(campaign, start: start).map { .users($0) } ?? .tokens(keys.audience(partition, campaign.whole))
  }

  /// Calls `body` with the users of one partition that match an expression, with their devices.
  func forEachUser(
    of search: AudienceSearch, in partition: Int, reading reads: UserReads = UserReads(),
    _ body: (MemberPage) throws -> Void
  ) async throws {
    _ = try await walk(.users(search), in: partition, reading: reads) { page, _ in try body(page) }
  }

  /// Calls `body` with the members of an audience, page by page. The commands of `body` and the reads of the next page
  /// share a round trip.
  ///
  /// - Parameters:
  ///   - source: the source of the members.
  ///   - partition: the partition.
  ///   - reads: the data to read about users in addition to their devices.
  ///   - body: gets each page, and adds commands of the expansion. The walk ends if a script refuses one of them.
  /// - Returns: the commands of `body` that were not run yet; `nil` if a command was refused.
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
