public import PushCore
import Redis

/// The estimated number of users and pushes of a campaign.
public struct Reached: Sendable, Equatable {
  /// Users with a matching device; `nil` for a list of tokens, whose users are unknown.
  public var users: Int?
  /// Pushes, including the pushes of `also`.
  public var targets: Int
  /// Users of the audience who are in a control group.
  public var control = 0
}

extension Audiences {
  /// Seconds until the temporary user list of a count expires, if the caller does not remove it.
  private static let countTimeout = 3600

  /// Counts the users and pushes of a campaign and its companions as if they began now. `submit --estimate`, the API
  /// and the approval of large campaigns use this number.
  ///
  /// - Parameters:
  ///   - campaigns: the campaign with the filter of all its legs, followed by its companions
  ///     (``PushCore/CampaignJob/companions(of:_:_:)``) with their filters.
  ///   - proceed: called before each partition. It throws to end the count.
  /// - Returns: the users of the campaign without its companions, and the pushes of all of them.
  public func count(
    _ campaigns: [(campaign: Campaign, filter: DeviceFilter)], _ proceed: @Sendable () throws -> Void = {}
  ) async throws -> Reached {
    var reached = Reached(users: 0, targets: 0)
    for (place, (campaign, filter)) in campaigns.enumerated() {
      let each = try await count(campaign, filter: filter, proceed)
      if place == 0 { reached = each } else { reached.targets += each.targets }
    }
    return reached
  }

  /// Counts the users and pushes of a campaign as if it began now. The count reads the same data as the expansion of
  /// slices, and sends nothing.
  ///
  /// If the job lists users, the store keeps this list in Redis during the count.
  ///
  /// - Parameters:
  ///   - campaign: a campaign, submitted or not.
  ///   - filter: the campaign's filter for devices.
  ///   - proceed: called before each partition. It throws to end the count.
  /// - Throws: ``StoreError`` `invalid` if ``check(_:)`` refuses the campaign, or an earlier campaign has not ended.
  public func count(
    _ campaign: Campaign, filter: DeviceFilter, _ proceed: @Sendable () throws -> Void = {}
  ) async throws -> Reached {
    var campaign = campaign
    campaign.recipients.definitions = try await store.queue.check(campaign)
    if let id = try await unfinishedEarlier(of: campaign) {
      throw StoreError(
        .invalid, "the audience refers to campaign \(id), which has not ended, so its recipients are not final",
        hint: "wait for its end, or submit the job: its campaign waits automatically")
    }
    campaign = try await withEarlierParts(campaign)
    switch campaign.recipients.audience {
    case .tokens(let tokens): return Reached(users: nil, targets: tokens.count)
    case .channel: return Reached(users: nil, targets: 1)
    case .segment, .campaign, .activity:
      return try await count(campaign, filter, in: Array(0..<keys.partitions), proceed)
    case .users:
      // Use a temporary id in a form that is not allowed for campaigns.
      var listed = campaign
      listed.message.recipientValues = [:]
      listed.id = "~" + String(UInt64.random(in: .min ... .max), radix: 36)
      let partitions = try await store.queue.writeAudience(of: listed)
      var pipeline = RedisPipeline()
      for partition in partitions {
        pipeline.append("EXPIRE", keys.audience(partition, listed.id), Self.countTimeout)
      }
      _ = try await run(pipeline)
      let result: Result<Reached, any Error>
      do {
        result = .success(try await count(listed, filter, in: partitions, proceed))
      } catch {
        result = .failure(error)
      }
      pipeline.removeAll()
      for partition in partitions { pipeline.append("UNLINK", keys.audience(partition, listed.id)) }
      _ = try await run(pipeline)
      return try result.get()
    }
  }

  private func count(
    _ campaign: Campaign, _ filter: DeviceFilter, in partitions: [Int], _ proceed: @Sendable () throws -> Void
  ) async throws -> Reached {
    guard let search = AudienceSearch(campaign, start: filter.start) else { return Reached(users: nil, targets: 0) }
    guard let limit = campaign.recipients.limit else { return try await count(search, filter, in: partitions, proceed) }
    return try await count(campaign, search, filter, limit, in: partitions, proceed)
  }

  private func count(
    _ search: AudienceSearch, _ filter: DeviceFilter, in partitions: [Int], _ proceed: @Sendable () throws -> Void
  ) async throws -> Reached {
    var (users, targets, control) = (0, 0, 0)
    for partition in partitions {
      try proceed()
      try await store.expansion.forEachUser(of: search, in: partition, reading: filter.asksToChoose) { page in
        page.forEachUser { user, record, json, _ in
          if filter.isControl(user) {
            if filter.seenAt(of: user, record, json) != nil { control += 1 }
            return
          }
          let before = targets
          filter.forEachTarget(of: user, record, json) { _, _ in targets += 1 }
          if targets > before { users += 1 }
        }
      }
    }
    return Reached(users: users, targets: targets, control: control)
  }

  /// Counts a campaign with a limit in two passes, as its slices do: the first pass makes a histogram of the times when
  /// users were last seen; the second applies the quota of each partition.
  private func count(
    _ campaign: Campaign, _ search: AudienceSearch, _ filter: DeviceFilter, _ limit: Int, in partitions: [Int],
    _ proceed: @Sendable () throws -> Void
  ) async throws -> Reached {
    var quotas = RecencyQuotas(limit: limit)
    var histograms: [RecencyHistogram] = []
    for partition in partitions {
      try proceed()
      histograms.append(try await store.expansion.histogram(of: campaign, filter, in: partition))
      quotas.count(histograms[histograms.count - 1])
    }
    quotas.settle()
    var (users, targets, control) = (0, 0, 0)
    for (partition, histogram) in zip(partitions, histograms) {
      try proceed()
      var best = BestUsers(quota: quotas.quota(of: histogram), campaign: campaign.id)
      try await store.expansion.forEachUser(of: search, in: partition, reading: filter.asksToChoose) { page in
        page.forEachUser { user, record, json, _ in
          if filter.isControl(user) {
            if let seenAt = filter.seenAt(of: user, record, json) { best.end(control: user, seenAt: seenAt) }
            return
          }
          var seenAt: UInt64 = 0
          filter.forEachTarget(of: user, record, json) { device, _ in
            seenAt = max(seenAt, device.seenAt)
            best.add(0) { _ in }
          }
          best.end(user: user, seenAt: seenAt)
        }
      }
      best.forEachUser { user, isControl in
        if isControl {
          control += 1
        } else {
          users += 1
          targets += user.count
        }
      }
    }
    return Reached(users: users, targets: targets, control: control)
  }
}
