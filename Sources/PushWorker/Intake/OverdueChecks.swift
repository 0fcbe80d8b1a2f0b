import EventLoop
import Synchronization

/// Counts the overdue checks of the whole process: checks of jobs that still run after their callers stopped waiting
/// (``JobChecker``).
///
/// Each overdue check keeps a core busy until the process ends, also after a reload of the configuration has replaced
/// the worker.
public enum OverdueChecks {
  private struct State {
    var count = 0
    /// Time since which there are more than ``most`` overdue checks, in ns of `DispatchTime`; `nil` if there are not.
    var since: UInt64?
  }

  /// Maximum number of overdue checks in a healthy process. More of them leave a small machine little time for pushes.
  static let most = 4

  private static let state = Mutex(State())

  /// Time since which there are too many overdue checks, in ns of `DispatchTime`; `nil` if there are not.
  public static var since: UInt64? { state.withLock(\.since) }

  static func add() { change(by: 1) }

  static func remove() { change(by: -1) }

  private static func change(by number: Int) {
    state.withLock { state in
      state.count += number
      state.since = state.count > most ? state.since ?? EventLoop.now : nil
    }
  }
}
