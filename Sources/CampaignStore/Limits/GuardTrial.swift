public import PushCore
import Redis

/// Reply to a worker during a guard trial: the counters of the trial, and the number of *leased sends*. A leased send
/// is the permission to send one push while the guard is undecided.
public struct GuardTrialAnswer: Sendable, Equatable {
  /// Answers of the push service that all workers together have counted.
  public var counts: GuardCounts
  /// Number of sends that this call has leased to the worker.
  public var leased: Int
  /// Number of sends that the fleet has leased and that have no answer yet.
  public var inFlight: Int
  /// Answers of the push service to the latest campaigns of the app while their guards were undecided, including this
  /// campaign.
  public var app: GuardCounts

  /// Creates an answer.
  public init(counts: GuardCounts, leased: Int, inFlight: Int, app: GuardCounts = GuardCounts()) {
    self.counts = counts
    self.leased = leased
    self.inFlight = inFlight
    self.app = app
  }
}

/// Decision whether a worker with mostly bad answers declines a campaign.
public enum DeclineDecision: Sendable, Equatable {
  /// The worker declines the campaign. Redis has subtracted the answers of this worker from the counters.
  case decline
  /// The worker does not decline the campaign: the answers of the other workers are as bad, another worker has already
  /// declined it, or there are no other workers.
  case stay
  /// The campaign no longer runs, or has been resumed in the meantime.
  case outdated
}

/// The guard trial of a campaign. Until the guard has decided, a worker sends a push only if it has leased the send
/// from Redis. The damage by a wrong setting is therefore limited, whatever the number of workers.
extension Limits {
  /// Adds the answers that a worker has counted to the fleet's counters, and leases sends to the worker.
  ///
  /// The call is not idempotent. If the reply is lost and the worker repeats the call, the worker's answers count
  /// twice, and the guard decides slightly too early.
  ///
  /// - Parameters:
  ///   - app: app of the campaign.
  ///   - minimum: number of answers at which the guard decides; until then the fleet leases at most twice this number.
  ///   - lease: ms without a reported answer and without a returned send, after which leased sends count as lost.
  ///   - wanted: number of sends that the worker wants.
  ///   - news: answers that the worker has counted since its last call.
  ///   - returned: the number of leased sends to return, because their answer does not count or because the worker does
  ///     not need them.
  ///   - round: number of resumes of the campaign that the worker knows.
  /// - Returns: `nil` if the campaign was resumed in the meantime. The answers are then not counted, and nothing is
  ///   leased.
  public func guardTrial(
    _ id: String, app: String, minimum: Int, lease: Int, wanted: Int, news: GuardCounts, returned: Int, round: Int
  ) async throws -> GuardTrialAnswer? {
    var pipeline = RedisPipeline()
    pipeline.script(StoreScripts.guardTrial, keys: [keys.guardTrial(id), keys.campaign(id), keys.answers(app: app)]) {
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
    let hashes = [keys.guardTrial(id), keys.answers(app: app)]
    let numbers = try await counted(reply, in: hashes)
    guard 0...max(0, wanted) ~= numbers[3] else { throw await store.repair.damaged(hashes) }
    return GuardTrialAnswer(
      counts: GuardCounts(answers: numbers[0], suspects: numbers[1], gone: numbers[2]), leased: numbers[3],
      inFlight: numbers[4], app: GuardCounts(answers: numbers[5], suspects: numbers[6], gone: numbers[7]))
  }

  /// Decides whether a worker with mostly bad answers declines a campaign, because its own settings may be wrong. The
  /// function also records the decline (``Campaigns/decline(_:worker:round:timeout:)``). Idempotent.
  ///
  /// - Parameters:
  ///   - app: app of the campaign.
  ///   - policy: thresholds of the guard.
  ///   - isOpen: whether the guard has decided to let the campaign continue, so that the worker already prunes devices.
  ///   - reported: the worker's answers that are included in the counters.
  ///   - leased: sends that the worker has leased and not returned.
  ///   - timeout: ms without a heartbeat after which a worker counts as dead.
  ///   - round: number of resumes of the campaign that the worker knows.
  public func decideDecline(
    of worker: String, from id: String, app: String, policy: GuardPolicy, isOpen: Bool, reported: GuardCounts,
    leased: Int,
    timeout: Int,
    round: Int
  ) async throws -> DeclineDecision {
    var pipeline = RedisPipeline()
    pipeline.script(
      StoreScripts.standDown,
      keys: [
        keys.guardTrial(id), keys.campaign(id), keys.answers(app: app), keys.declines(id), keys.workers,
      ]
    ) {
      $0.append(round)
      $0.append(timeout)
      $0.append(policy.minimum)
      $0.append("\(policy.threshold)")
      $0.append("\(policy.pruneShare)")
      $0.append(isOpen ? "1" : "")
      $0.append(reported.answers)
      $0.append(reported.suspects)
      $0.append(reported.gone)
      $0.append(leased)
      $0.append(worker)
    }
    return switch try await run(pipeline)[0].integer {
    case 1: .decline
    case 0: .stay
    default: .outdated
    }
  }

  /// Adds the answers that a worker has counted after the guard trial to the fleet's counters.
  ///
  /// Not idempotent, like ``guardTrial(_:app:minimum:lease:wanted:news:returned:round:)``.
  ///
  /// - Returns: the latest answers of the whole fleet; `nil` if the campaign no longer exists or was resumed since.
  public func guardWatch(_ id: String, minimum: Int, news: GuardCounts, round: Int) async throws -> GuardCounts? {
    var pipeline = RedisPipeline()
    pipeline.script(StoreScripts.guardWatch, keys: [keys.guardWatch(id), keys.campaign(id)]) {
      $0.append(minimum)
      $0.append(news.answers)
      $0.append(news.suspects)
      $0.append(news.gone)
      $0.append(round)
      $0.append(Self.watchMemory)
    }
    let reply = try await run(pipeline)[0]
    guard reply.count == 3 else { return nil }
    let numbers = try await counted(reply, in: [keys.guardWatch(id)])
    return GuardCounts(answers: numbers[0], suspects: numbers[1], gone: numbers[2])
  }

  /// Returns the numbers of a reply. Throws if one of them is outside the range of stored numbers.
  private func counted(_ reply: RedisReply, in hashes: [String]) async throws -> [Int] {
    let numbers = reply.map { $0.integer ?? .min }
    guard numbers.allSatisfy({ (-StoredHash.maximumCounted...StoredHash.maximumCounted).contains($0) }) else {
      throw await store.repair.damaged(hashes)
    }
    return numbers
  }

  /// Time in ms without a new answer after which the sum of the fleet's answers expires.
  private static let watchMemory = 3_600_000
}
