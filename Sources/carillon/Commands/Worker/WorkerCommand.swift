import Admin
import ArgumentParser
import CampaignStore
import CommandSupport
import EventLoop
import Foundation
import Glibc
import PushCore
import PushTransport
import PushWorker
import Synchronization

/// The command `carillon worker`.
struct WorkerCommand: LongRunningCommand, AuditedCommand {
  static let signals = ProcessSignals.stops + [SIGHUP]
  static let configuration = CommandConfiguration(
    commandName: "worker",
    abstract: "Run a worker that takes campaigns from the queue and sends them.",
    discussion: """
      Any number of workers can run, on any number of machines. On SIGTERM or SIGINT the worker takes no new work. It \
      waits for the answers to its pushes in flight, records them, and exits with 0 within worker.deadline. A second \
      signal ends it immediately. If a worker is killed, nothing is lost: another worker takes over its work. On \
      SIGHUP, or if the configuration file changes, the worker reads the file and finishes its pushes in flight. It \
      then continues with the new apps, credentials and limits. It ignores an invalid configuration.

      With admin.listen or --listen the worker serves /livez, /readyz and /metrics. Under systemd (Type=notify) it \
      reports when it is ready and when it stops, and sends watchdog notifications.

      Examples:
        carillon worker
        carillon worker --name east-1 --json
        carillon worker --drain
      """)

  /// Time in seconds from `worker.deadline` until the process of a hanging worker is ended. A normal stop takes at most
  /// 2 s longer than the deadline: 1 s for an engine that hangs, and 1 s for a late timer.
  private static let grace = 5

  static let effect = Effect.unrecorded

  @OptionGroup var global: GlobalOptions

  @Flag(help: "Exit when all campaigns except scheduled ones have ended.")
  var drain = false

  @Option(
    help: "The worker's unique name in logs and lists (default: host name and process id).")
  var name: String?
  @OptionGroup var endpoint: ListenOption

  func validate() throws {
    if let name, !PlainName.isValid(name) { throw ValidationError("--name must be \(PlainName.form).") }
  }

  func run() async throws {
    let stop = WorkerStop()
    let configuration = try global.loadConfiguration()
    let name = self.name ?? Self.ownName
    let deadline = Int(configuration.worker.deadline.components.seconds)
    limitStop(
      to: deadline + Self.grace,
      "the worker did not stop within \(Self.grace) s after worker.deadline, so the process ends now",
      hint: "nothing is lost: another worker takes over; unanswered pushes are in doubt")
    let signals = ProcessSignals(ProcessSignals.stops)
    let notifier = ServiceNotifier(ProcessInfo.processInfo.environment)
    let stopper = Task {
      var deadline = configuration.worker.deadline
      for await _ in signals.numbers {
        notifier?.stopping()
        await stop.ask(within: Int(deadline.components.seconds))
        // A second signal means that the operator does not want to wait. In Redis, pushes without an answer stay in
        // doubt.
        deadline = .zero
      }
    }
    defer { stopper.cancel() }
    // Serve the health checks before the first call to Redis, so that they can report why the worker waits.
    let current = CurrentWorker()
    let loops = WorkerLoops()
    let liveness = Liveness([
      .executor(within: Liveness.Part.turnLimit), .loopCheck("the worker's event loop", of: loops.worker),
      .loopCheck("the Redis driver's event loop", of: loops.intake), .redisCall(of: current), .jobChecks,
    ])
    let identity = WorkerIdentity(
      name: name, version: Carillon.version, engine: configuration.worker.engine.rawValue)
    let served = try endpoint.address(configuration).map {
      try AdminEndpoint(
        configuration.admin, at: $0,
        WorkerSite.routes(of: current, identity, liveness) { StandardError.dropped }, asksForTokens: false)
    }
    let watchdog = notifier?.keepAlive(on: loops.worker) { liveness.isAlive }
    defer { withExtendedLifetime(watchdog) {} }
    do {
      try await work(configuration, name: name, on: loops, unless: stop, current, notifier)
    } catch {
      await served?.stop()
      throw error
    }
    await served?.stop()
  }

  /// Runs workers, one after the other: a new worker starts after each reload and after each repartitioning of the
  /// store.
  private func work(
    _ configuration: CarillonConfiguration, name: String, on loops: WorkerLoops, unless stop: WorkerStop,
    _ current: CurrentWorker, _ notifier: ServiceNotifier?
  ) async throws {
    let connection = try StoreConnection(
      configuration.redis, zoneinfo: configuration.worker.zoneinfo, apps: configuration.appServices)
    let log = WorkerLog(name, redis: connection.endpoint)
    let reload = ConfigurationReload(configuration, loader: global.configurationLoader, report: log.write)
    let reloading = Task {
      await reload.run { change in
        guard change.concernsWork else { return }
        let worker = await reload.current.worker
        // Wait for all pushes in flight, so that a changed setting never causes a push to be sent twice.
        let seconds = max(worker.deadline, worker.answerTimeout + .seconds(1)).components.seconds
        await stop.renew(within: Int(seconds))
      }
    }
    defer { reloading.cancel() }
    // No worker runs while the store is repartitioned. After that, a new worker opens the store with its new
    // partitions. A new worker also starts when the configuration has changed.
    var isStoreLocked = false
    repeat {
      let isReload = stop.takeRenewal()
      let configuration = await reload.current
      // Check this before the first call to Redis, so that a configuration error is reported immediately.
      let channels = try AppChannels.make(configuration.apps)
      try EnvironmentProxy.check(
        channels, engine: configuration.worker.engine, environment: ProcessInfo.processInfo.environment)
      guard let store = try await open(connection, name, on: loops.worker, unless: stop, current, notifier, log) else {
        return
      }
      let control = connection.store(for: "carillon worker \(name) control", on: loops.worker, keys: store.keys)
      let blocking = connection.store(for: "carillon worker \(name) intake", on: loops.intake, keys: store.keys)
      let worker = PushWorker(
        configuration: try setup(configuration, name: name, channels), store: store, sharedStore: control,
        blocking: blocking, loop: loops.worker
      ) { event in
        if case .started = event {
          notifier?.ready("worker \(name) is taking campaigns")
          FaultEnvironment.block(loop: loops.worker, redis: loops.intake)
        }
        // A reload replaces the worker, but is not logged as a stop and a start.
        switch event {
        case .started(let name) where isReload: log.logReload(as: name)
        case .draining where stop.isRenewed && !stop.isAsked: break
        case .stopped(let totals) where stop.isRenewed && !stop.isAsked: log.add(totals)
        default: log.write(event)
        }
      }
      let watcher = CredentialWatcher(configuration.apps, channels: channels) { log.write($0) }
      let watching = Task { await watcher.run() }
      defer { watching.cancel() }
      current.begin(worker)
      stop.begin(worker)
      try await worker.run()
      isStoreLocked = await worker.isStoreLocked
      for store in [store, control, blocking] { await store.close() }
    } while (isStoreLocked && !drain || stop.isRenewed) && !stop.isAsked
  }

  private func setup(
    _ configuration: CarillonConfiguration, name: String, _ channels: [String: AppChannel]
  ) throws -> WorkerConfiguration {
    var setup = WorkerConfiguration(
      name: name, window: configuration.worker.window, connections: configuration.worker.connections,
      retry: RetryPolicy(configuration.retry), guard: GuardPolicy(configuration.guard), drains: drain, apps: channels)
    setup.isNameGiven = self.name != nil
    setup.version = Carillon.version
    setup.webhooks = try configuration.webhookTargets()
    setup.lastDeviceOnly = Set(configuration.apps.filter(\.value.lastDeviceOnly).keys)
    setup.engine = configuration.worker.engine
    setup.answerTimeout = Int(configuration.worker.answerTimeout / .milliseconds(1))
    setup.faults = try FaultEnvironment.switches()
    return setup
  }

  /// Opens the store. Waits while the store is locked for repartitioning, except with `--drain`.
  ///
  /// - Returns: `nil` if the worker was asked to stop while it waited.
  private func open(
    _ connection: StoreConnection, _ name: String, on loop: EventLoop, unless stop: WorkerStop,
    _ current: CurrentWorker, _ notifier: ServiceNotifier?, _ log: WorkerLog
  ) async throws -> CampaignStore? {
    let store = connection.store(for: "carillon worker \(name)", on: loop)
    var isNew = true
    while !stop.isAsked {
      do {
        return try await connection.open(store, creating: true, changing: true)
      } catch let error as StoreError where error.code == .locked && !drain {
        current.waits(because: "\(error)")
        // The process reports to systemd that it is ready, although it still waits. Otherwise systemd would not start
        // the units that depend on this unit.
        if isNew {
          log.error("waits: \(error)")
          notifier?.ready("worker \(name) waits: \(error)")
        }
        isNew = false
        try await Task.sleep(for: .seconds(1))
      }
    }
    return nil
  }

  /// Host name and process id, with only the characters that are allowed in a name.
  private static var ownName: String {
    let host = String(
      decoding: ProcessInfo.processInfo.hostName.utf8.map { PlainName.isLetter($0) ? $0 : UInt8(ascii: "-") },
      as: UTF8.self)
    let suffix = "-\(ProcessInfo.processInfo.processIdentifier)"
    return host.prefix(PlainName.maximumLength - suffix.count) + suffix
  }
}

/// The event loops of a worker process. They are kept until the process ends, also during reloads.
private struct WorkerLoops {
  /// Loop of the worker and of its two connections to Redis. They share a loop, so that a call to Redis wakes no other
  /// thread.
  let worker = EventLoop(label: "worker")
  /// Loop of the connection that waits for jobs.
  let intake = EventLoop(label: "intake")
}

/// Passes a request to stop to the running worker. If no worker is running, the next worker that starts gets it.
private final class WorkerStop: Sendable {
  private struct State {
    var worker: PushWorker?
    /// Maximum duration of the latest requested stop, in seconds; `nil` for no request.
    var deadline: Int?
    /// Maximum duration of the stop in the latest requested restart, in seconds; `nil` for no request.
    var renewal: Int?
  }

  private let state = Mutex(State())

  var isAsked: Bool { state.withLock { $0.deadline != nil } }

  /// Whether a restart is requested: a new worker then starts after the present one.
  var isRenewed: Bool { state.withLock { $0.renewal != nil } }

  /// Clears the request for a restart.
  ///
  /// - Returns: whether there was such a request.
  func takeRenewal() -> Bool {
    state.withLock { state in
      defer { state.renewal = nil }
      return state.renewal != nil
    }
  }

  /// Stops the running worker, so that a new one replaces it.
  func renew(within seconds: Int) async {
    let worker = state.withLock { state in
      state.renewal = seconds
      return state.worker
    }
    await worker?.stop(within: seconds)
  }

  /// Sets the worker that gets later requests, because it is about to run.
  func begin(_ worker: PushWorker) {
    let deadline = state.withLock { state in
      state.worker = worker
      return state.deadline ?? state.renewal
    }
    if let deadline { Task { await worker.stop(within: deadline) } }
  }

  /// Asks the worker to stop. The function does not wait until the worker has stopped.
  func ask(within seconds: Int) async {
    let worker = state.withLock { state in
      state.deadline = seconds
      return state.worker
    }
    Task { await worker?.stop(within: seconds) }
  }
}

extension RetryPolicy {
  init(_ retry: CarillonConfiguration.Retry) {
    self.init(
      firstServerError: retry.firstServerError.wholeMilliseconds, serverError: retry.serverError.wholeMilliseconds,
      tooManyRequests: retry.tooManyRequests.wholeMilliseconds,
      attempts: retry.attempts, longest: retry.longest.wholeMilliseconds, jitter: retry.jitter)
  }
}

extension GuardPolicy {
  init(_ guard: CarillonConfiguration.Guard) {
    self.init(threshold: `guard`.threshold, pruneShare: `guard`.pruneShare, minimum: `guard`.minimum)
  }
}

extension Duration {
  /// Whole milliseconds, rounded down.
  var wholeMilliseconds: Int { Int(self / .milliseconds(1)) }
}
