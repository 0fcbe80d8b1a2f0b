import CampaignStore

/// Whose process has ended: the server has no connection of it, looked at twice, and it gave no heartbeat meanwhile. Pure.
///
/// A live worker that lost its connection gives a heartbeat at once. Should that be too late, it is taken for dead: its
/// claims are fenced, and what it sends meanwhile is bounded by its window.
struct LivenessMonitor {
  /// Those that were not there at the last look, and their last heartbeat.
  private var absent: [WorkerInstance: Int] = [:]

  /// - Returns: those whose process has ended.
  mutating func look(_ sights: [PresenceSight]) -> [WorkerInstance] {
    var next: [WorkerInstance: Int] = [:]
    var gone: [WorkerInstance] = []
    for sight in sights where !sight.isListening {
      if absent[sight.instance] == sight.heartbeat { gone.append(sight.instance) }
      next[sight.instance] = sight.heartbeat
    }
    absent = next
    return gone
  }

  /// Forgets what was seen: the next look is the first.
  mutating func forget() { absent = [:] }
}
