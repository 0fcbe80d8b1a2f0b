import PushCore
import Redis

/// Checks that a campaign and its parts agree: each names the other, and their states are possible together.
extension StoreCheck {
  /// Checks a campaign with its parts, or a part with its campaign.
  ///
  /// The records are in several keys, and the end of a part and of its campaign are two steps. So the check reports a
  /// difference only if two reads find it.
  func parts(of id: String) async throws -> [StoreFinding] {
    let first = try await disagreements(about: id)
    guard !first.isEmpty else { return [] }
    try await Task.sleep(for: pause)
    let findings = try await disagreements(about: id).filter(first.contains)
    // The repair only pauses or cancels parts, like their campaign. It never starts a part.
    if findings.contains(where: { $0.standing == .repaired }), let verb = try await store.campaigns.find(id)?.stop {
      _ = try await store.campaigns.control(id, verb)
    }
    return findings
  }

  private func disagreements(about id: String) async throws -> [StoreFinding] {
    let name = CampaignID(id)
    do {
      guard name.part != nil else {
        guard let record = try await store.campaigns.find(id) else { return [] }
        return try await missingParts(of: record) + wrongStates(of: record)
      }
      let campaign = try await store.campaigns.find(name.whole)
      guard campaign?.staging.partIDs.contains(id) != true, try await isLeft(id) else { return [] }
      return [
        open(
          .partWithoutCampaign, keys.campaign(id), id,
          campaign == nil ? "campaign \(name.whole) does not exist" : "the campaign does not list it")
      ]
    } catch let error as StoreError where error.code == .damaged {
      // A campaign or a part that can't be read has a finding of its own.
      return []
    }
  }

  /// Returns whether a part without a campaign stays in the store: it does not expire, and its campaign was not
  /// isolated.
  private func isLeft(_ id: String) async throws -> Bool {
    var pipeline = RedisPipeline()
    pipeline.append("TTL", keys.campaign(id))
    pipeline.append("EXISTS", keys.isolated(keys.campaign(CampaignID(id).whole)))
    let replies = try await store.run(pipeline)
    return replies[0].integer == -1 && replies[1].integer == 0
  }

  /// Finds the parts that have no record. Does not count a part that was isolated, or that has expired with its
  /// campaign.
  private func missingParts(of record: CampaignRecord) async throws -> [StoreFinding] {
    guard record.times.finishedAt == nil else { return [] }
    let missing = record.staging.partIDs.filter { id in !record.parts.contains { $0.id == id } }
    guard !missing.isEmpty else { return [] }
    var pipeline = RedisPipeline()
    for id in missing { pipeline.append("EXISTS", keys.isolated(keys.campaign(id))) }
    return zip(missing, try await store.run(pipeline)).filter { $1.integer == 0 }.map { id, _ in
      open(.missingPart, keys.campaign(record.id), id)
    }
  }

  private func wrongStates(of record: CampaignRecord) -> [StoreFinding] {
    record.parts.filter { !record.mayHave($0) }.map { part in
      let detail = "the campaign is \(record.state.rawValue), and the part \(part.state.rawValue)"
      let kind = StoreFinding.Kind.wrongPartState
      return record.stop == nil
        ? open(kind, keys.campaign(part.id), part.id, detail) : finding(kind, keys.campaign(part.id), part.id, detail)
    }
  }
}

extension CampaignRecord {
  /// Returns whether the state of a part is possible together with the state of its campaign.
  fileprivate func mayHave(_ part: CampaignRecord) -> Bool {
    guard part.times.finishedAt == nil else { return true }
    guard times.finishedAt == nil else { return false }
    switch (state, part.state) {
    case (.scheduled, .scheduled), (.scheduled, .waiting), (.paused, .paused), (.cancelled, .cancelled): return true
    case (.active, .active), (.active, .scheduled), (.active, .waiting): return true
    // The legs of one push service can be paused alone.
    case (.active, .paused): return legs.count > 1
    default: return false
    }
  }

  /// The command that stops the parts of a campaign that has been stopped and has not ended; `nil` for all others.
  fileprivate var stop: ControlVerb? {
    guard times.finishedAt == nil else { return nil }
    return state == .paused ? .pause : state == .cancelled ? .cancel : nil
  }
}
