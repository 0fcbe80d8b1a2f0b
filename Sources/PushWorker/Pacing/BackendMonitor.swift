import CampaignStore
import EventLoop
import PushCore
import PushTransport

/// Checks the backends of the apps, in the worker that holds the housekeeping lease. Users who open a push cause load
/// on the backend of the app. While the backend is unhealthy, all workers therefore send the app's pushes more slowly.
final class BackendMonitor: WorkerPart {
  let environment: WorkerEnvironment
  private let slices: SliceTable
  private let rates: RateService
  private let housekeeping: HousekeepingLease
  private var schedule = BackendSchedule()

  init(_ environment: WorkerEnvironment, slices: SliceTable, rates: RateService, housekeeping: HousekeepingLease) {
    self.environment = environment
    self.slices = slices
    self.rates = rates
    self.housekeeping = housekeeping
  }

  /// Whether an app has a backend.
  var isNeeded: Bool { environment.configuration.apps.values.contains { $0.backend != nil } }

  /// Time in ms between two runs, which check the backends that are due and read the results.
  private var interval: Int {
    min(1000, environment.configuration.apps.values.compactMap { $0.backend?.interval }.min() ?? 1000)
  }

  /// Runs beside the worker's other loops. No loop waits for it, so a failed check or read delays no push.
  func run() async {
    while !life.isFinished, !Task.isCancelled {
      do {
        if housekeeping.isLeader { askBackends() }
        if !slices.taken.isEmpty { follow(try await sharedStore.limits.backends()) }
      } catch {
        if !life.isFinished { log.report("could not read the status of backends", error) }
      }
      try? await Task.sleep(for: .milliseconds(interval))
    }
  }

  /// Reads the health of the backends when the worker takes its first campaign of an app with a backend. A worker
  /// without slices does not read the health regularly.
  func loadStatus() async {
    do {
      follow(try await sharedStore.limits.backends())
    } catch {
      log.report("could not read the status of backends", error)
    }
  }

  /// Checks the backends that are due. Each check runs on its own, so a backend that hangs delays no other.
  private func askBackends() {
    let now = EventLoop.now
    for (name, app) in environment.configuration.apps {
      guard let backend = app.backend, schedule.begin(name, backend, now) else { continue }
      loop.start {
        await self.ask(backend, of: name)
        self.schedule.end(name)
      }
    }
  }

  private func ask(_ backend: AppBackend, of app: String) async {
    let finding = await backend.check.run()
    do {
      let now = Int(now)
      let known = try await sharedStore.limits.backends()[app].flatMap { $0.isCurrent(now) ? $0 : nil }
      let status = known ?? BackendStatus(app: app, at: now)
      let next = BackendPace.after(status, finding, leastShare: backend.leastShare, now: now)
      try await sharedStore.limits.save(next)
      if next.isSlowed != status.isSlowed {
        log.write(
          next.isSlowed ? .throttled(app: app, share: next.share, reason: next.reason ?? "") : .throttleEnded(app: app))
      }
    } catch {
      if !life.isFinished { log.report("could not record the status of the backend of app \(app)", error) }
    }
  }

  /// Adapts the rates to the health of the backends.
  private func follow(_ statuses: [String: BackendStatus]) {
    let backends = environment.configuration.apps.compactMapValues(\.backend)
    if rates.follow(statuses, of: backends) { wakeSlices() }
  }
}
