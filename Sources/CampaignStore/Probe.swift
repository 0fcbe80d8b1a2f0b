public import PushCore
import Redis

/// What a campaign's guard is told while it has not decided.
public struct ProbeAnswer: Sendable, Equatable {
  /// What all workers were answered.
  public var counts: GuardCounts
  /// Sends that were lent by this call.
  public var lent: Int
  /// Sends that are lent to the fleet and not answered.
  public var underWay: Int
  /// What the latest campaigns of the app were answered while their guards had not decided, this one's included.
  public var app: GuardCounts

  /// Memberwise.
  public init(counts: GuardCounts, lent: Int, underWay: Int, app: GuardCounts = GuardCounts()) {
    self.counts = counts
    self.lent = lent
    self.underWay = underWay
    self.app = app
  }
}

/// The sends of a campaign whose guard has not decided: lent by control, so that a wrong setting shows before the fleet
/// has done harm with it, however many workers there are.
extension CampaignStore {
  /// Adds what a worker was answered, and lends it sends.
  ///
  /// Not idempotent: should the reply get lost and the call be made again, its answers count twice, and the guard decides
  /// a little early.
  ///
  /// - Parameters:
  ///   - app: the campaign's.
  ///   - minimum: answers at which the guard decides; the fleet is lent twice that until then.
  ///   - lease: ms without news after which what was lent is taken for lost.
  ///   - wanted: sends.
  ///   - news: answers since the last call.
  ///   - returned: sends lent earlier that were answered otherwise, or are not needed.
  ///   - round: how often the worker knows the campaign to have been resumed.
  /// - Returns: `nil` when it was resumed since: the answers are not counted, and nothing is lent.
  public func probe(
    _ id: String, app: String, minimum: Int, lease: Int, wanted: Int, news: GuardCounts, returned: Int, round: Int
  ) async throws -> ProbeAnswer? {
    var pipeline = RedisPipeline()
    pipeline.script(StoreScripts.probe, keys: [keys.probe(id), keys.campaign(id), keys.answers(app: app)]) {
      $0.append(minimum)
      $0.append(lease)
      $0.append(wanted)
      $0.append(news.answers)
      $0.append(news.suspects)
      $0.append(news.gone)
      $0.append(returned)
      $0.append(round)
    }
    let reply = try await run(pipeline)[0]
    guard reply.count == 8 else { return nil }
    let numbers = (0..<8).map { reply[$0].integer ?? 0 }
    return ProbeAnswer(
      counts: GuardCounts(answers: numbers[0], suspects: numbers[1], gone: numbers[2]), lent: numbers[3],
      underWay: numbers[4], app: GuardCounts(answers: numbers[5], suspects: numbers[6], gone: numbers[7]))
  }
}
