import PushCore
import Redis

/// The event stream: outcomes and prunes as a Redis stream, for a data warehouse. By default (`redis.streamLength` 0),
/// the stream is off.
///
/// Each entry has the fields `kind` (`outcome` or `prune`) and `json`. The worker writes the outcomes of a slice after
/// the end of the slice and before it counts the slice as finished. If this worker dies in between, the next worker
/// writes the outcomes again. So each outcome is written at least once. A reader recognises a repetition by its
/// campaign, token and outcome.
extension Results {
  /// Writes the outcomes of ended slices.
  func streamOutcomes(of slices: [SliceReference]) async throws {
    guard store.streamLength > 0, let id = slices.first?.campaign, let record = try await store.campaigns.find(id)
    else { return }
    try await forEachResult(of: slices, record) { page in
      var pipeline = RedisPipeline()
      for result in page {
        if let outcome = result.outcome, result.token != nil {
          append("outcome", Self.line(of: result, outcome, campaign: record, services), to: &pipeline)
        }
      }
      if !pipeline.isEmpty { _ = try await run(pipeline) }
      return true
    }
  }

  /// Appends an entry of the stream.
  func append(_ kind: String, _ json: [UInt8], to pipeline: inout RedisPipeline) {
    pipeline.append("XADD", keys.events, "MAXLEN", "~", store.streamLength, "*", "kind", kind, "json", json)
  }

  private static func line(
    of result: TargetResult, _ outcome: Outcome, campaign: CampaignRecord, _ services: PushServices
  ) -> [UInt8] {
    var json = JSONWriter()
    json.beginObject()
    let id = CampaignID(campaign.id)
    json.member("campaign", id.whole)
    if let part = id.part { json.member("part", part.description) }
    json.member("app", campaign.app)
    json.member("user", result.user.isEmpty ? nil : result.user)
    json.member("token", result.token.flatMap { services[campaign.service]?.text(of: $0) } ?? "")
    json.member("outcome", outcome.name)
    json.member("status", result.status > 0 ? Int(result.status) : nil)
    json.member("reason", result.reason.isEmpty ? nil : result.reason)
    json.member("at", Timestamp.format(milliseconds: Int(result.at)))
    json.endObject()
    return json.take()
  }
}
