public import PushCore
import Redis

/// How many a campaign would reach.
public struct Reached: Sendable, Equatable {
  /// Users with a device that it would go to; of a list of tokens nobody knows them.
  public var users: Int?
  /// Pushes, including those of `also`.
  public var targets: Int
  /// Users who are meant, and in a control group.
  public var control = 0
}

extension Audiences {
  /// Seconds after which a list of users is gone that whoever counts has left behind.
  private static let countTimeout = 3600

  /// Counts the users and pushes of a campaign and its companions as if they began now. `submit --estimate`, the API and the
  /// approval of large campaigns use this number.
  ///
  /// - Parameters:
  ///   - companions: the campaigns of the job's `also` (``PushCore/CampaignJob/companions(of:_:_:)``).
  ///   - filter: returns the filter of a campaign for devices.
  /// - Returns: the users of the campaign itself, and the pushes of all.
  public func count(
    _ campaign: Campaign, with companions: [Campaign], filter: (Campaign) throws -> DeviceFilter
  ) async throws -> Reached {
    var reached = try await count(campaign, filter: filter(campaign))
    for companion in companions {
      reached.targets += try await count(companion, filter: filter(companion)).targets
    }
    return reached
  }

  /// Counts whom a campaign would reach if it began now: reads what its slices would read, and sends nothing.
  ///
  /// A job that lists users has its list in Redis meanwhile.
  ///
  /// - Parameters:
  ///   - campaign: one that was submitted or not.
  ///   - filter: what it asks of devices.
  /// - Throws: ``StoreError`` `invalid` for what ``check(_:)`` refuses, and for an earlier campaign that has not ended.
  public func count(_ campaign: Campaign, filter: DeviceFilter) async throws -> Reached {
    var campaign = campaign
    campaign.recipients.definitions = try await store.queue.check(campaign)
    if let id = try await unfinishedEarlier(of: campaign) {
      throw StoreError(
        .invalid, "the audience refers to campaign \(id), which has not ended: nobody knows yet whom it reaches",
        hint: "wait for it, or submit the job: its campaign waits")
    }
    campaign = try await withEarlierParts(campaign)
    switch campaign.recipients.audience {
    case .tokens(let tokens): return Reached(users: nil, targets: tokens.count)
    case .channel: return Reached(users: nil, targets: 1)
    case .segment, .campaign, .activity: return try await count(campaign, filter, in: Array(0..<keys.partitions))
    case .users:
      // Under a name that no campaign can have.
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
        result = .success(try await count(listed, filter, in: partitions))
      } catch {
        result = .failure(error)
      }
      pipeline.removeAll()
      for partition in partitions { pipeline.append("UNLINK", keys.audience(partition, listed.id)) }
      _ = try await run(pipeline)
      return try result.get()
    }
  }

  private func count(_ campaign: Campaign, _ filter: DeviceFilter, in partitions: [Int]) async throws -> Reached {
    guard let search = AudienceSearch(campaign, start: filter.start) else { return Reached(users: nil, targets: 0) }
    guard let limit = campaign.recipients.limit else { return try await count(search, filter, in: partitions) }
    return try await count(campaign, search, filter, limit, in: partitions)
  }

  private func count(
    _ search: AudienceSearch, _ filter: DeviceFilter, in partitions: [Int]
  ) async throws -> Reached {
    var (users, targets, control) = (0, 0, 0)
    for partition in partitions {
      try await store.expansion.forEachUser(of: search, in: partition, reading: filter.asksToChoose) { page in
        page.forEachUser { user, record, json, _ in
          if filter.isControl(user) {
            if filter.seenAt(of: user, record, json) != nil { control += 1 }
            return
          }
          let before = targets
          filter.forEachTarget(of: user, record, json) { _ in targets += 1 }
          if targets > before { users += 1 }
        }
      }
    }
    return Reached(users: users, targets: targets, control: control)
  }

  /// Counts as its slices would: first by when users were seen, then as many of each partition as it takes.
  private func count(
    _ campaign: Campaign, _ search: AudienceSearch, _ filter: DeviceFilter, _ limit: Int, in partitions: [Int]
  ) async throws -> Reached {
    var quotas = RecencyQuotas(limit: limit)
    var histograms: [RecencyHistogram] = []
    for partition in partitions {
      histograms.append(try await store.expansion.histogram(of: campaign, filter, in: partition))
      quotas.count(histograms[histograms.count - 1])
    }
    quotas.settle()
    var (users, targets, control) = (0, 0, 0)
    for (partition, histogram) in zip(partitions, histograms) {
      var best = BestUsers(quota: quotas.quota(of: histogram), campaign: campaign.id)
      try await store.expansion.forEachUser(of: search, in: partition, reading: filter.asksToChoose) { page in
        page.forEachUser { user, record, json, _ in
          if filter.isControl(user) {
            if let seenAt = filter.seenAt(of: user, record, json) { best.end(control: user, seenAt: seenAt) }
            return
          }
          var seenAt: UInt64 = 0
          filter.forEachTarget(of: user, record, json) { device in
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
