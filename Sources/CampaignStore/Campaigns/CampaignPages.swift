public import PushCore
import Redis

/// Pages of campaigns: the cost of a page does not depend on the number of campaigns.
extension Campaigns {
  /// Conditions for the campaigns of a page; `nil` for any value.
  public struct CampaignFilter: Sendable {
    public var state: CampaignState?
    public var app: String?
    public var lane: Lane?

    /// Creates an instance with these values.
    public init(state: CampaignState? = nil, app: String? = nil, lane: Lane? = nil) {
      self.state = state
      self.app = app
      self.lane = lane
    }

    func matches(_ record: CampaignRecord) -> Bool {
      (state ?? record.state) == record.state && (app ?? record.app) == record.app
        && (lane ?? record.lane) == record.lane
    }
  }

  /// Maximum number of campaigns that are read for a page. If few campaigns match the filter, a page may have fewer
  /// campaigns than requested.
  static let mostRead = 2000

  /// Returns campaigns whose records still exist, newest first, with their totals.
  ///
  /// - Parameters:
  ///   - cursor: the cursor of the previous page; `nil` for the first page.
  ///   - count: the maximum number of campaigns.
  /// - Throws: ``StoreError`` `invalid` for an invalid cursor.
  public func page(
    _ filter: CampaignFilter, from cursor: String?, count: Int, damaged: (StoreError) -> Void = { _ in }
  ) async throws -> StorePage<CampaignRecord> {
    var place = try cursor.map(CampaignPlace.init)
    var page = StorePage<CampaignRecord>(elements: [], next: nil)
    var looked = 0
    while looked < Self.mostRead {
      let ids = try await ids(behind: place)
      if ids.isEmpty { break }
      var pipeline = RedisPipeline()
      for (id, _) in ids { read(CampaignRecord.fields, of: id, to: &pipeline) }
      for ((id, createdAt), result) in zip(ids, try await runEach(pipeline)) {
        looked += 1
        place = CampaignPlace(createdAt: createdAt, id: id)
        guard CampaignID(id).part == nil else { continue }
        do throws(StoreError) {
          if let record = try record(id, result.get()), filter.matches(record) { page.elements.append(record) }
        } catch {
          damaged(error)
        }
        guard page.elements.count < count, looked < Self.mostRead else {
          page.next = place?.text
          page.elements = try await withParts(page.elements)
          return page
        }
      }
    }
    page.elements = try await withParts(page.elements)
    return page
  }

  /// Position of a campaign in the list of all campaigns.
  private struct CampaignPlace {
    /// ms since the epoch.
    var createdAt: Int
    var id: String

    var text: String { "\(createdAt)-\(id)" }

    init(createdAt: Int, id: String) {
      self.createdAt = createdAt
      self.id = id
    }

    init(_ text: String) throws(StoreError) {
      let parts = text.split(separator: "-", maxSplits: 1).map(String.init)
      guard parts.count == 2, let createdAt = Int(parts[0]), CampaignID.isValid(CampaignID(parts[1]).whole)
      else {
        throw StoreError(
          .invalid, "cursor: is not a cursor of this list", hint: "use the value of next in the previous page")
      }
      self.init(createdAt: createdAt, id: parts[1])
    }
  }

  /// Returns the next campaigns after a position. Campaigns of the same millisecond are in descending order of their
  /// ids, as in Redis.
  private func ids(behind place: CampaignPlace?) async throws -> [(id: String, createdAt: Int)] {
    var offset = 0
    while true {
      var pipeline = RedisPipeline()
      pipeline.append(
        "ZRANGE", keys.all, place.map { String($0.createdAt) } ?? "+inf", "-inf", "BYSCORE", "REV", "LIMIT", offset,
        CampaignStore.batch, "WITHSCORES")
      let reply = try await run(pipeline)[0]
      var ids: [(id: String, createdAt: Int)] = []
      for index in stride(from: 0, to: reply.count - 1, by: 2) {
        guard let id = reply[index].string, let at = reply[index + 1].integer else { continue }
        if let place, at == place.createdAt, Array(id.utf8).lexicographicallyPrecedes(Array(place.id.utf8)) == false {
          continue
        }
        ids.append((id, at))
      }
      guard ids.isEmpty, reply.count > 0 else { return ids }
      offset += CampaignStore.batch
    }
  }

  /// Returns campaigns that are scheduled or wait for approval, with their start in ms since the epoch, the next one
  /// first. A campaign with several scheduled parts is listed once, with its first part.
  public func scheduled(count: Int) async throws -> [(id: String, at: Int, needsApproval: Bool)] {
    var pipeline = RedisPipeline()
    for key in [keys.schedule, keys.approvals] { pipeline.append("ZRANGE", key, 0, count - 1, "WITHSCORES") }
    let replies = try await run(pipeline)
    let all = zip(replies, [false, true]).flatMap { reply, needsApproval in
      Self.scheduled(in: reply).map { (id: $0.id, at: $0.at, needsApproval: needsApproval) }
    }
    return Array(all.sorted { $0.at < $1.at }.prefix(count))
  }

  private static func scheduled(in reply: RedisReply) -> [(id: String, at: Int)] {
    var seen: Set<String> = []
    return stride(from: 0, to: reply.count - 1, by: 2).compactMap { index in
      guard let id = reply[index].string.map({ CampaignID($0).whole }), let at = reply[index + 1].integer,
        seen.insert(id).inserted
      else { return nil }
      return (id, at)
    }
  }
}
