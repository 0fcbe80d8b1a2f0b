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

  /// Compares the workers with the last check.
  ///
  /// - Returns: the workers whose process has ended.
  mutating func check(_ states: [PresenceState]) -> [WorkerInstance] {
    var next: [WorkerInstance: Int] = [:]
    var gone: [WorkerInstance] = []
    for state in states where !state.isListening {
      if absent[state.instance] == state.heartbeat { gone.append(state.instance) }
      next[state.instance] = state.heartbeat
    }
    absent = next
    return gone
  }

  /// Discards the last check. The next check then counts as the first.
  mutating func reset() { absent = [:] }
}
