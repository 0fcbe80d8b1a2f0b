import CampaignStore
import EventLoop
import PushTransport

/// What every part of a worker gets: how the worker is set up, the store, the clock, the log and the loop. Confined to the worker's
/// loop.
final class WorkerEnvironment {
  var configuration: WorkerConfiguration
  /// For commits and expansion.
  let store: CampaignStore
  /// The same store over a second client, for calls that may wait behind a large reply without a delay of the commits.
  let sharedStore: CampaignStore
  let log: TroubleLog
  let loop: WorkerLoop
  let signals = WorkerSignals()
  var life = WorkerLife()
  /// Redis' clock.
  private(set) var clock = StoreClock()
  /// Live workers, as Redis said last; this one among them.
  var fleet = 1
  /// Whether campaigns may begin.
  var storeLock = StoreHold.none

  init(
    _ configuration: WorkerConfiguration, store: CampaignStore, sharedStore: CampaignStore, log: TroubleLog,
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

  /// Sets Redis' clock to what it said just now, in ms since the epoch.
  func setClock(_ milliseconds: Int) {
    clock.set(milliseconds)
    for app in configuration.apps.values { app.credential.setOffset(Int64((Double(clock.offset) / 1000).rounded())) }
  }

  /// Notes the moment at which the worker began to run.
  func noteStart() { clock.startedAt = Int(clock.now) }
}

/// A part of a worker. It owns its state, and gets the other parts that it uses when it is made.
protocol WorkerPart {
  var environment: WorkerEnvironment { get }
}

extension WorkerPart {
  var store: CampaignStore { environment.store }
  var sharedStore: CampaignStore { environment.sharedStore }
  var log: TroubleLog {
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
  /// Whether nothing new is taken in, as the store's partitions are being changed or have changed.
  var isStoreLocked: Bool { environment.storeLock != .none }

  /// Wakes the loop that takes slices: there may be something to take.
  func wakeClaims() { signals.claims.ring() }

  /// Has slices go on that can.
  ///
  /// - Parameter takingMore: whether to look for further slices, where there is room.
  func wakeSlices(takingMore: Bool = true) { signals.onCredit(takingMore) }

  /// Suspends for a number of milliseconds. The loops of a worker that stops end a moment later, so nothing cuts this short.
  func pause(milliseconds: Int) async {
    do {
      try await Task.sleep(for: .milliseconds(milliseconds))
    } catch {
      environment.signals.onCancellation()
    }
  }
}
