import Redis

/// What the fleet makes of a worker's word that it can't send a campaign.
public enum ObjectionAnswer: Sendable, Equatable {
  /// Other workers may be able to.
  case others
  /// No live worker is.
  case unanimous
  /// The campaign does not run any more, or has been resumed since.
  case outdated
}

/// Workers that can't send a campaign, as their settings or their way to the push service are wrong, or the campaign is:
/// one worker can't tell which.
extension Campaigns {
  /// Says, or says again, that a worker can't send a campaign. To be said again more often than each `timeout`.
  ///
  /// - Parameters:
  ///   - round: how often the worker knows the campaign to have been resumed.
  ///   - timeout: ms without a heartbeat after which a worker is taken for dead.
  public func object(to id: String, worker: String, round: Int, timeout: Int) async throws -> ObjectionAnswer {
    var pipeline = RedisPipeline()
    pipeline.script(StoreScripts.object, keys: [keys.objections(id), keys.workers, keys.campaign(id)]) {
      $0.append(worker)
      $0.append(timeout)
      $0.append(round)
    }
    return switch try await run(pipeline)[0].integer {
    case 1: .unanimous
    case 0: .others
    default: .outdated
    }
  }
}
