public import PushCore
import Redis

/// What a campaign's guard is told during its trial.
public struct GuardTrialAnswer: Sendable, Equatable {
  /// What all workers were answered.
  public var counts: GuardCounts
  /// Sends that this call has leased.
  public var leased: Int
  /// Sends that the fleet has leased and that are not answered.
  public var underWay: Int
  /// What the latest campaigns of the app were answered while their guards had not decided, this one's included.
  public var app: GuardCounts

  /// Memberwise.
  public init(counts: GuardCounts, leased: Int, underWay: Int, app: GuardCounts = GuardCounts()) {
    self.counts = counts
    self.leased = leased
    self.underWay = underWay
    self.app = app
  }
}

/// Whether a worker of whose answers most are bad is to leave a campaign to the others.
public enum StandDownAnswer: Sendable, Equatable {
  /// It is: control has forgotten its answers.
  case leave
  /// It is not: the others' answers are as bad, or another has left already, or there are no others.
  case stay
  /// The campaign does not run any more, or has been resumed since.
  case outdated
}

/// The guard trial of a campaign: until its guard has decided, workers lease their sends from Redis. So a wrong setting
/// shows before the fleet has done harm with it, however many workers there are.
extension Limits {
  /// Adds what a worker was answered, and leases it sends.
  ///
  /// Not idempotent: should the reply get lost and the call be made again, its answers count twice, and the guard decides
  /// a little early.
  ///
  /// - Parameters:
  ///   - app: the campaign's.
  ///   - minimum: answers at which the guard decides; the fleet leases twice that until then.
  ///   - lease: ms without news after which what was leased is taken for lost.
  ///   - wanted: sends.
  ///   - news: answers since the last call.
  ///   - returned: sends leased earlier that were answered otherwise, or are not needed.
  ///   - round: how often the worker knows the campaign to have been resumed.
  /// - Returns: `nil` when it was resumed since: the answers are not counted, and nothing is leased.
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
      underWay: numbers[4], app: GuardCounts(answers: numbers[5], suspects: numbers[6], gone: numbers[7]))
  }

  /// Asks whether a worker of whose answers most are bad is to leave the campaign to the others: its own settings may be
  /// what is wrong. One that is has objected with that (``object(to:worker:round:timeout:)``). Idempotent.
  ///
  /// - Parameters:
  ///   - app: the campaign's.
  ///   - policy: the bounds.
  ///   - isOpen: whether the worker touches devices already.
  ///   - told: its answers that control was told of.
  ///   - leased: its sends that control leased, but for those returned.
  ///   - timeout: ms without a heartbeat after which a worker is taken for dead.
  ///   - round: how often the worker knows the campaign to have been resumed.
  public func standDown(
    _ worker: String, from id: String, app: String, policy: GuardPolicy, isOpen: Bool, told: GuardCounts, leased: Int,
    timeout: Int,
    round: Int
  ) async throws -> StandDownAnswer {
    var pipeline = RedisPipeline()
    pipeline.script(
      StoreScripts.standDown,
      keys: [
        keys.guardTrial(id), keys.campaign(id), keys.answers(app: app), keys.objections(id), keys.workers,
      ]
    ) {
      $0.append(round)
      $0.append(timeout)
      $0.append(policy.minimum)
      $0.append("\(policy.threshold)")
      $0.append("\(policy.pruneShare)")
      $0.append(isOpen ? "1" : "")
      $0.append(told.answers)
      $0.append(told.suspects)
      $0.append(told.gone)
      $0.append(leased)
      $0.append(worker)
    }
    return switch try await run(pipeline)[0].integer {
    case 1: .leave
    case 0: .stay
    default: .outdated
    }
  }

  /// Adds what a worker was answered since its guard is open.
  ///
  /// Not idempotent, as ``guardTrial(_:app:minimum:lease:wanted:news:returned:round:)``.
  ///
  /// - Returns: what the fleet was answered lately; `nil` when the campaign was resumed since, or is gone.
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

  /// The numbers of a reply, if all of them can be right.
  private func counted(_ reply: RedisReply, in hashes: [String]) async throws -> [Int] {
    let numbers = reply.map { $0.integer ?? .min }
    guard numbers.allSatisfy({ (-StoredHash.mostCounted...StoredHash.mostCounted).contains($0) }) else {
      throw await store.repair.damaged(hashes)
    }
    return numbers
  }

  /// ms that the sum of the fleet's answers is kept without news.
  private static let watchMemory = 3_600_000
}
