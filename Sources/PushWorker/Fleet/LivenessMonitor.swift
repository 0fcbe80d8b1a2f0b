import CampaignStore

/// Detects workers whose process has ended: two checks in a row found no connection of the worker, and it sent no
/// heartbeat in between. The type does no I/O.
///
/// A live worker that lost its connection sends a heartbeat immediately. If the heartbeat is too late, the worker
/// counts as dead although it is alive. Its claims are then invalid, and it can send at most one window of further
/// pushes.
struct LivenessMonitor {
  /// Workers that were absent at the last check, with their last heartbeats.
  private var absent: [WorkerInstance: Int] = [:]

  /// - Returns: The workers whose process has ended.
  mutating func check(_ sights: [PresenceSight]) -> [WorkerInstance] {
    var next: [WorkerInstance: Int] = [:]
    var gone: [WorkerInstance] = []
    for sight in sights where !sight.isListening {
      if absent[sight.instance] == sight.heartbeat { gone.append(sight.instance) }
      next[sight.instance] = sight.heartbeat
    }
    absent = next
    return gone
  }

  /// Clears the last check, so that the next check is the first.
  mutating func forget() { absent = [:] }
}
