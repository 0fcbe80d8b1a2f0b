import Redis

/// How far a campaign is declined.
public enum DeclineAnswer: Sendable, Equatable {
  /// Other live workers have not declined the campaign.
  case others
  /// Every live worker has declined the campaign.
  case unanimous
  /// The campaign does not run any more, or has been resumed since.
  case outdated
}

/// Campaigns that workers decline. The cause may be the worker's settings, its way to the push service, or the campaign:
/// one worker can't tell which.
extension Campaigns {
  /// Records that a worker declines a campaign. The worker repeats the call more often than each `timeout`.
  ///
  /// - Parameters:
  ///   - round: how often the worker knows the campaign to have been resumed.
  ///   - timeout: ms without a heartbeat after which a worker is taken for dead.
  public func decline(_ id: String, worker: String, round: Int, timeout: Int) async throws -> DeclineAnswer {
    var pipeline = RedisPipeline()
    pipeline.script(StoreScripts.decline, keys: [keys.objections(id), keys.workers, keys.campaign(id)]) {
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
