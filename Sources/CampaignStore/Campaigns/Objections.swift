import Redis

/// Result of declining a campaign.
public enum ObjectionAnswer: Sendable, Equatable {
  /// Other workers may be able to send it.
  case others
  /// No live worker can send it.
  case unanimous
  /// The campaign no longer runs, or has been resumed since.
  case outdated
}

/// Workers that decline a campaign. The reason is in their settings, in their connection to the push service, or in the
/// campaign. One worker can't find out which.
extension Campaigns {
  /// Records or renews that a worker declines a campaign. The worker must renew it within every `timeout`.
  ///
  /// - Parameters:
  ///   - round: the campaign's number of resumes, as the worker knows it.
  ///   - timeout: ms without a heartbeat after which a worker counts as dead.
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
