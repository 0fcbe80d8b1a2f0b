import CampaignStore
import EventLoop
import PushTransport

/// The environment of every part of a worker: the settings, the store, the clock, the log and the loop. Confined to the
/// worker's loop.
final class WorkerEnvironment {
  var configuration: WorkerConfiguration
  /// The store for the writes of slices (commits) and for the expansion.
  let store: CampaignStore
  /// The same store through a second client. A large reply on this client does not delay the commits.
  let sharedStore: CampaignStore
  let log: WorkerEventLog
  let loop: WorkerLoop
  let signals = WorkerSignals()
  var life = WorkerLife()
  /// Redis' clock.
  private(set) var clock = StoreClock()
  /// Number of live workers as Redis last reported, including this one.
  var fleet = 1
  /// Whether the store is locked. While the store is locked, no campaign may begin.
  var storeLock = StoreLock.none

  init(
    _ configuration: WorkerConfiguration, store: CampaignStore, sharedStore: CampaignStore, log: WorkerEventLog,
    loop: WorkerLoop
  ) {
    self.configuration = configuration
    self.store = store
    self.sharedStore = sharedStore
    self.log = log
    self.loop = loop
  }

  /// Reads Redis' clock.
  func measureClock() async throws { setClock(try await sharedStore.time() / 1000) }

  /// Sets the worker's copy of Redis' clock to the time in an answer, in ms since the epoch.
  func setClock(_ milliseconds: Int) {
    clock.set(milliseconds)
    for channel in configuration.apps.values.flatMap(\.services) {
      channel.credential.setOffset(Int64((Double(clock.offset) / 1000).rounded()))
    }
  }

  /// Records the time at which the worker started.
  func recordStart() { clock.startedAt = Int(clock.now) }
}

/// A part of a worker. A part owns its state, and its initialiser gets the other parts that it uses.
protocol WorkerPart {
  var environment: WorkerEnvironment { get }
}

extension WorkerPart {
  var store: CampaignStore { environment.store }
  var sharedStore: CampaignStore { environment.sharedStore }
  var log: WorkerEventLog {
    environment.loop.check()
    return environment.log
  }
  var loop: WorkerLoop { environment.loop }
  var signals: WorkerSignals {
    environment.loop.check()
    return environment.signals
  }
  var life: WorkerLife {
    environment.loop.check()
    return environment.life
  }
  /// The worker's name.
  var name: String { environment.configuration.name }
  /// ms since the epoch by Redis' clock.
  var now: UInt64 { environment.clock.now }
  /// The lease of a slice, in ns.
  var lease: UInt64 { UInt64(environment.configuration.lease) * 1_000_000 }
  /// Whether the worker takes nothing new, because the store is being repartitioned or was repartitioned.
  var isStoreLocked: Bool { environment.storeLock != .none }

  /// Wakes the loop that takes slices, because slices may be available.
  func wakeClaims() { signals.claims.wake() }

  /// Wakes the slices that can continue.
  ///
  /// - Parameter takingMore: Whether to take further slices if there is room.
  func wakeSlices(takingMore: Bool = true) { signals.onCredit(takingMore) }

  /// Suspends for a number of milliseconds. No signal ends the pause earlier, so the loops of a stopping worker may end
  /// this much later.
  func pause(milliseconds: Int) async {
    do {
      try await Task.sleep(for: .milliseconds(milliseconds))
    } catch {
      environment.signals.onCancellation()
    }
  }
}
