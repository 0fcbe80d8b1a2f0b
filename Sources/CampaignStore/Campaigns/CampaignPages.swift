public import PushCore
import Redis

/// Pages of the list of campaigns. The cost of a page does not depend on the number of campaigns.
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
  static let maximumRead = 2000

  /// Returns campaigns whose records still exist, newest first, with their totals.
  ///
  /// - Parameters:
  ///   - cursor: the cursor of the previous page; `nil` for the first page.
  ///   - count: the maximum number of campaigns.
  /// - Throws: ``StoreError`` `invalid` for an invalid cursor.
  public func page(
    _ filter: CampaignFilter, from cursor: String?, count: Int
  ) async throws -> StorePage<CampaignRecord> {
    var place = try cursor.map(CampaignPlace.init(cursor:))
    var page = StorePage<CampaignRecord>(elements: [], next: nil)
    var looked = 0
    while looked < Self.maximumRead {
      let places = try await places(after: place, .newestFirst)
      if places.isEmpty { break }
      var pipeline = RedisPipeline()
      for place in places { read(CampaignRecord.fields, of: place.id, to: &pipeline) }
      for (next, result) in zip(places, try await runEach(pipeline)) {
        looked += 1
        place = next
        let id = next.id
        guard CampaignID(id).part == nil else { continue }
        // A damaged record is left out: a worker isolates it.
        if let record = try? record(id, result.get()), filter.matches(record) { page.elements.append(record) }
        guard page.elements.count < count, looked < Self.maximumRead else {
          page.next = place?.cursor
          page.elements = try await withParts(page.elements)
          return page
        }
      }
    }
    page.elements = try await withParts(page.elements)
    return page
  }

  /// Returns campaigns that are scheduled or wait for approval, with their start in ms since the epoch, the earliest
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

extension CampaignPlace {
  /// The place as the cursor of a page.
  fileprivate var cursor: String { "\(createdAt)-\(id)" }

  fileprivate init(cursor: String) throws(StoreError) {
    let parts = cursor.split(separator: "-", maxSplits: 1).map(String.init)
    guard parts.count == 2, let createdAt = Int(parts[0]), CampaignID.isValid(CampaignID(parts[1]).whole)
    else { throw .invalidCursor }
    self.init(createdAt: createdAt, id: parts[1])
  }
}
