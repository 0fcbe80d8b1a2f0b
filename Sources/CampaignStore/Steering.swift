import PushCore
import Redis

/// What a person does to a campaign.
public enum Steering: String, Sendable {
  case pause, resume, cancel
}

/// What a worker is to follow, all of one moment.
public struct SteeringView: Sendable {
  /// How often campaigns were steered so far.
  public var epoch: Int
  /// The states of the campaigns, in the order asked for; `nil` for those that are gone.
  public var states: [CampaignState?]
  /// How often each was resumed.
  public var rounds: [Int]
}

/// Steering campaigns, and knowing that it has reached everybody.
///
/// Every steering raises an epoch. A worker reads epoch and states in one step, stops what it has to stop, and then says
/// up to which epoch it has followed.
extension CampaignStore {
  /// Pauses, resumes or cancels. Workers follow within moments.
  ///
  /// - Parameter unguarded: resumed, its prunes and quarantines are carried out whatever their share.
  /// - Returns: the state that follows: unchanged when the verb does not apply to it.
  /// - Throws: ``StoreError`` `notFound`.
  @discardableResult
  public func steer(
    _ id: String, _ verb: Steering, reason: String = "", unguarded: Bool = false
  ) async throws -> CampaignState {
    try await raise(id, verb, reason, unguarded: unguarded).0
  }

  /// Pauses, resumes or cancels, and waits until every live worker has followed: what it sends of a campaign that was
  /// paused or cancelled is by then at most what was in its window.
  ///
  /// - Parameter lease: ms after which a silent worker is taken for dead; twice that is waited at most.
  /// - Returns: the state that follows, and the live workers that did not say that they have followed: none, usually.
  /// - Throws: ``StoreError`` `notFound`.
  public func steerEverywhere(
    _ id: String, _ verb: Steering, reason: String = "", lease: Int
  ) async throws -> (state: CampaignState, unconfirmed: [String]) {
    let (state, epoch) = try await raise(id, verb, reason)
    let end = ContinuousClock.now + .milliseconds(2 * lease)
    while true {
      let behind = try await workersBehind(epoch, silence: lease)
      if behind.isEmpty || ContinuousClock.now >= end { return (state, behind) }
      try await Task.sleep(for: Self.confirmationInterval)
    }
  }

  /// Between looks at who has followed; workers look every 100 ms.
  private static let confirmationInterval = Duration.milliseconds(20)

  /// Steers.
  ///
  /// - Returns: the state that follows, and the epoch: who has followed up to it knows of this.
  private func raise(
    _ id: String, _ verb: Steering, _ reason: String, unguarded: Bool = false
  ) async throws -> (CampaignState, epoch: Int) {
    guard let record = try await campaign(id) else { throw noSuchCampaign(id) }
    let lane = record.lane
    var pipeline = RedisPipeline()
    pipeline.script(
      StoreScripts.steer,
      keys: [
        keys.campaign(id), keys.lane(lane.rawValue), keys.open(id), keys.running, keys.schedule, keys.ended, keys.epoch,
        keys.probe(id), keys.answers(app: record.app),
      ]
    ) {
      $0.append(id)
      $0.append(verb.rawValue)
      $0.append(reason)
      $0.append(unguarded ? "unguarded" : "")
    }
    let reply = try await run(pipeline)[0]
    guard reply.count == 3, let state = reply[0].string.flatMap(CampaignState.init(rawValue:)),
      let epoch = reply[1].integer
    else { throw noSuchCampaign(id) }
    if reply[2].integer == 1 {
      try await expire(id)
    } else if verb == .cancel, state == .cancelled {
      try await unparkAll(of: id, lane: lane)
    }
    return (state, epoch)
  }

  /// Reads what a worker is to follow, and says what it has followed.
  ///
  /// - Parameters:
  ///   - ids: the campaigns it holds.
  ///   - worker: its name.
  ///   - followed: the epoch up to which it has; `nil` before the first.
  public func follow(_ ids: [String], worker: String, followed: Int?) async throws -> SteeringView {
    var pipeline = RedisPipeline()
    pipeline.script(StoreScripts.follow, keys: [keys.epoch, keys.seen] + ids.map { keys.campaign($0) }) {
      $0.append(worker)
      $0.append(followed.map(String.init) ?? "")
    }
    let reply = try await run(pipeline)[0]
    let campaigns = stride(from: 1, to: reply.count - 1, by: 2)
    return SteeringView(
      epoch: reply.first?.integer ?? 0,
      states: campaigns.map { reply[$0].string.flatMap(CampaignState.init(rawValue:)) },
      rounds: campaigns.map { reply[$0 + 1].integer ?? 0 })
  }

  /// The live workers that have yet to follow a steering.
  func workersBehind(_ epoch: Int, silence: Int) async throws -> [String] {
    var pipeline = RedisPipeline()
    pipeline.script(StoreScripts.confirm, keys: [keys.workers, keys.seen]) {
      $0.append(epoch)
      $0.append(silence)
    }
    return try await run(pipeline)[0].compactMap(\.string)
  }

  /// Opens what a cancelled campaign has parked. Should this be cut short, the rest comes back when it is due.
  private func unparkAll(of id: String, lane: Lane) async throws {
    for start in stride(from: 0, to: keys.partitions, by: Self.batch) {
      var pipeline = RedisPipeline()
      pipeline.script(
        StoreScripts.unpark, keys: [keys.campaign(id), keys.lane(lane.rawValue), keys.open(id), keys.parked]
      ) {
        $0.append(id)
        $0.append(start)
        $0.append(min(start + Self.batch, keys.partitions) - 1)
      }
      _ = try await run(pipeline)
    }
  }
}
