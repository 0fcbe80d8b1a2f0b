import PushCore
import Redis

/// Activation: writes a campaign with its fields, its parts and its open slices.
extension Queue {
  /// Writes the campaign with its parts and its open slices. The caller must already have written the users and tokens
  /// that the job lists.
  ///
  /// - Parameters:
  ///   - request: the entry on the worker's list, if this entry is not the text in `job`.
  ///   - digest: the digest for which the id was reserved.
  ///   - start: the start of the campaign, in UNIX seconds.
  ///   - approval: the reason why it needs approval; `nil` if it needs none.
  ///   - reached: the estimated users and pushes, which the approver sees; `nil` if they were not counted.
  ///   - restored: the start in ms since the epoch of a campaign that Redis has lost; `nil` for a new campaign.
  func write(
    _ campaign: Campaign, job: [UInt8], _ resolved: [UInt8]? = nil, request: [UInt8]? = nil, digest: String,
    partitions: [Int], start: Int, worker: String, narrowed: Bool = false, approval: String? = nil,
    reached: Reached? = nil, restored: Int? = nil
  ) async throws -> Admission {
    let source = resolved ?? job
    let minified = await LargeJobThread.read(source.count) { JSONValue.minified(source[...]) }
    // If a worker restores a run that Redis has lost (`narrowed`), the run was valid when a worker took it in. Passing
    // the run's own id skips the check that the recurring campaign lists this run now.
    let parent = narrowed ? campaign.id : Repetition.run(campaign.id)?.parent ?? campaign.id
    let parts = campaign.parts.map { CampaignID(whole: campaign.id, part: $0) }
    let ids = [campaign.id] + parts.map(\.description)
    var pipeline = RedisPipeline(reserving: job.count + minified.count + 256 * (1 + parts.count))
    pipeline.script(
      StoreScripts.activate,
      keys: [
        keys.campaign(campaign.id), keys.job(campaign.id), keys.intake(worker: worker),
        keys.lane(campaign.delivery.lane.rawValue), keys.all, keys.running, keys.schedule, keys.ended, keys.gates,
        keys.wake,
        keys.store, keys.changes, keys.campaign(parent), keys.attempts, keys.approvals,
      ] + ids.flatMap { [keys.campaign($0), keys.open($0), keys.finished($0)] }
    ) { arguments in
      arguments.append(request ?? job)
      arguments.append(Self.idMemory)
      arguments.append(campaign.delivery.sendAt ?? 0)
      arguments.append(digest)
      arguments.append(keys.partitions)
      arguments.append(approval ?? "")
      arguments.append(partitions.count)
      for partition in partitions { arguments.append(partition) }
      arguments.append(PartitionBitmap(allBut: partitions, of: keys.partitions).bytes)
      var fields =
        fields(of: campaign, start: start, restored: restored, narrowed: narrowed)
        + ownFields(of: campaign)
      if let reached {
        fields.append(("reachedTargets", "\(reached.targets)"))
        if let users = reached.users { fields.append(("reachedUsers", "\(users)")) }
      }
      arguments.append(campaign.id)
      arguments.append(parts.isEmpty ? "sent" : "parts")
      arguments.append(2 * fields.count + 2)
      for (field, value) in fields {
        arguments.append(field)
        arguments.append(value)
      }
      arguments.append("job")
      arguments.append(minified)
      for id in parts {
        guard let part = id.part else { continue }
        let isFirst = campaign.index(of: part.stage) == 0
        // The partitions and definitions of a later stage are fixed when the stage begins.
        fields =
          self.fields(
            of: campaign, start: isFirst ? start : nil, restored: restored, narrowed: narrowed && isFirst,
            service: part.service)
          + [("of", id.whole)]
        arguments.append(id.description)
        arguments.append(!isFirst ? "gated" : campaign.isReversed(part) ? "reversed" : "sent")
        arguments.append(2 * fields.count)
        for (field, value) in fields {
          arguments.append(field)
          arguments.append(value)
        }
      }
    }
    let answer = try await run(pipeline)[0].integer
    if answer == 1 { return .new }
    if answer == 2 {
      try await store.campaigns.end(campaign.id)
      return .new
    }
    if answer == -2 {
      // The recurring campaign does not list this run, so the run never begins. Remove the request from the list.
      try await acknowledge(request ?? job, worker: worker)
      return .duplicate
    }
    // The campaign was activated before, or no campaign may begin now. If the campaign has ended or does not exist yet,
    // this call must remove the listed users and tokens that it has written, because no other step removes them.
    var isOurs = answer == -1
    if !isOurs { isOurs = try await store.campaigns.status(of: campaign.id)?.state.isFinal ?? true }
    if isOurs {
      pipeline.removeAll()
      for partition in partitions {
        pipeline.append("UNLINK", keys.audience(partition, campaign.id))
        // Values that were uploaded separately from the job can't be written again, so they stay.
        if !campaign.message.hasValuesBeside { pipeline.append("UNLINK", keys.values(partition, campaign.id)) }
      }
      _ = try await run(pipeline)
    }
    guard answer == 0 else { throw try await store.repartition.lockError() }
    return .duplicate
  }

  /// Returns the fields of a campaign, and of each of its parts.
  ///
  /// - Parameters:
  ///   - start: the start in UNIX seconds; `nil` if it is not known yet.
  ///   - restored: the start in ms since the epoch of a campaign that Redis has lost; `nil` for a new campaign.
  ///   - service: the push service of the part; `nil` for the first push service of the campaign.
  private func fields(
    of campaign: Campaign, start: Int?, restored: Int? = nil, narrowed: Bool, service: String? = nil
  ) -> [(String, String)] {
    var fields: [(String, String)] = [
      ("app", campaign.app), ("service", service ?? campaign.legs.first?.service ?? services.standard.name),
      ("lane", campaign.delivery.lane.rawValue), ("ttl", String(campaign.timeToLive)),
      ("expiration", start.flatMap { campaign.commonExpiration(startingAt: $0) }.map(String.init) ?? ""),
    ]
    if campaign.legs.count > 1 { fields.append(("legs", campaign.legs.map(\.service).joined(separator: " "))) }
    if let sendAt = campaign.delivery.sendAt, start != nil { fields.append(("sendAt", String(sendAt))) }
    if start != nil, campaign.delivery.timing.localTime != nil {
      fields.append(("isLocal", "1"))
    } else if start != nil, case .after(let seconds) = campaign.message.expiration {
      fields.append(("lifetime", String(seconds)))
    }
    if let restored, start != nil { fields.append(("start", String(restored))) }
    if campaign.message.variants != nil { fields.append(("receipts", "\(Results.receiptsByVariant)")) }
    // The partitions of listed users and tokens are known. For any other audience, the partitions are determined when
    // the campaign begins to expand.
    if narrowed || !campaign.isSearchedFor { fields.append(("narrowed", "1")) }
    if campaign.isToUsers, !narrowed { fields.append(("awaits", "registrations")) }
    if !campaign.recipients.definitions.isEmpty {
      fields.append(("definitions", String(decoding: campaign.recipients.definitions.json, as: UTF8.self)))
    }
    return fields
  }

  /// Returns the fields that only a campaign has, and not its parts.
  private func ownFields(of campaign: Campaign) -> [(String, String)] {
    var fields: [(String, String)] = []
    if let person = campaign.submittedBy { fields.append(("submittedBy", person)) }
    if let repetition = campaign.delivery.timing.repetition { fields.append(("repeat", repetition.text)) }
    if let (parent, _) = Repetition.run(campaign.id) { fields.append(("run", parent)) }
    let parts = campaign.parts
    if !parts.isEmpty {
      fields.append(("parts", parts.map(\.description).joined(separator: " ")))
      fields.append(("stage", "0"))
    }
    switch campaign.delivery.rate {
    case .perSecond(let rate)?: fields.append(("rate", "\(rate)"))
    case .over(let seconds)?: fields.append(("spread", "\(seconds)"))
    case .until(let milliseconds)?: fields.append(("finishBy", "\(milliseconds)"))
    case nil: break
    }
    return fields
  }
}
