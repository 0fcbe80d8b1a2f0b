import PushCore
import Redis

/// Position of a campaign in the list of all campaigns.
///
/// A reader of many pages remembers the last campaign and not its rank, because campaigns expire in the meantime. Each
/// expired campaign shifts the ranks of the later ones.
struct CampaignPlace: Sendable, Equatable {
  /// Time of the activation, in ms since the epoch. The list is sorted by this time.
  var createdAt: Int
  /// Orders campaigns of the same millisecond, by bytes as in Redis.
  var id: String
}

/// Order of the list of all campaigns. If a campaign is activated during a walk, only a walk that begins with the
/// oldest campaign finds it.
enum CampaignOrder {
  case oldestFirst, newestFirst

  /// Returns whether the first place comes before the second.
  fileprivate func precedes(_ first: CampaignPlace, _ second: CampaignPlace) -> Bool {
    let (first, second) = self == .oldestFirst ? (first, second) : (second, first)
    guard first.createdAt == second.createdAt else { return first.createdAt < second.createdAt }
    return first.id.utf8.lexicographicallyPrecedes(second.id.utf8)
  }
}

extension Campaigns {
  /// Returns the campaigns and parts that follow after a place, some of which may have expired.
  ///
  /// - Parameters:
  ///   - place: `nil` for the start of the list.
  ///   - count: the maximum number of places. The result has more only if more campaigns than this were activated in
  ///     the same millisecond.
  /// - Returns: an empty array at the end of the list.
  func places(
    after place: CampaignPlace?, _ order: CampaignOrder, count: Int = CampaignStore.batch
  ) async throws -> [CampaignPlace] {
    let bounds = order == .oldestFirst ? ("-inf", "+inf") : ("+inf", "-inf")
    var limit = count
    while true {
      var pipeline = RedisPipeline()
      pipeline.command("ZRANGE") {
        $0.append(keys.all)
        $0.append(place.map { String($0.createdAt) } ?? bounds.0)
        $0.append(bounds.1)
        $0.append("BYSCORE")
        if order == .newestFirst { $0.append("REV") }
        $0.append("LIMIT")
        $0.append(0)
        $0.append(limit)
        $0.append("WITHSCORES")
      }
      let reply = try await run(pipeline)[0]
      let places: [CampaignPlace] = stride(from: 0, to: reply.count - 1, by: 2).compactMap { index in
        guard let id = reply[index].string, let at = reply[index + 1].integer else { return nil }
        let found = CampaignPlace(createdAt: at, id: id)
        return place.map { order.precedes($0, found) } ?? true ? found : nil
      }
      guard places.isEmpty, reply.count >= 2 * limit else { return places }
      // All campaigns of this page have the same `createdAt` as `place`, and earlier pages contained them.
      limit *= 2
    }
  }

  /// Calls `body` with pages of the ids of all campaigns and parts, until it returns false.
  func forEachPage(
    _ order: CampaignOrder, of count: Int = CampaignStore.batch, _ body: ([String]) async throws -> Bool
  ) async throws {
    var last: CampaignPlace?
    while true {
      let page = try await places(after: last, order, count: count)
      guard !page.isEmpty, try await body(page.map(\.id)) else { return }
      last = page.last
    }
  }
}
