import Redis

/// Result of declining a campaign.
public enum DeclineAnswer: Sendable, Equatable {
  /// Some live workers have not declined the campaign.
  case others
  /// Every live worker has declined the campaign.
  case unanimous
  /// The campaign no longer runs, or has been resumed since.
  case outdated
}

/// Campaigns that workers decline: each push would fail. The cause is in the worker's settings, in its connection to
/// the push service, or in the campaign. A single worker can't find out which of these is the cause.
extension Campaigns {
  /// Records that a worker declines a campaign, or renews this record. The record expires unless the worker renews it
  /// within `timeout`.
  ///
  /// - Parameters:
  ///   - round: the campaign's number of resumes, as the worker knows it.
  ///   - timeout: ms without a heartbeat after which a worker counts as dead.
  public func decline(_ id: String, worker: String, round: Int, timeout: Int) async throws -> DeclineAnswer {
    var pipeline = RedisPipeline()
    pipeline.script(StoreScripts.decline, keys: [keys.declines(id), keys.workers, keys.campaign(id)]) {
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
