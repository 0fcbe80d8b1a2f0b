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

/// `carillon worker`.
struct WorkerCommand: LongRunningCommand {
  static let signals = ProcessSignals.stops + [SIGHUP]
  static let configuration = CommandConfiguration(
    commandName: "worker",
    abstract: "Runs a worker: takes campaigns from the queue and sends them.",
    discussion: """
      Any number of workers can run, on any number of machines. SIGTERM or SIGINT: it takes nothing new, finishes what \
      is in flight, records it and exits 0, within worker.deadline; a second signal: at once. A worker that is killed \
      loses nothing: another takes over what it held. SIGHUP, or another configuration file: it reads it, finishes what \
      is in flight, and goes on with the new apps, credentials and limits; one that can't be used changes nothing.

      With admin.listen, or --listen, it serves /livez, /readyz and /metrics. Under systemd (Type=notify) it says when \
      it is ready and when it stops, and gives the signs of life that a watchdog asks for.

      Examples:
        carillon worker
        carillon worker --name east-1 --json
        carillon worker --drain
      """)

  /// Seconds beyond worker.deadline after which a worker that hangs is ended. A stop that goes well takes at most two: one for
  /// an engine that hangs, one for a timer that came late.
  private static let grace = 5

  @OptionGroup var global: GlobalOptions

  @Flag(help: "Exit when no campaign is left, scheduled ones aside.")
  var drain = false

  @Option(
    help: "What the worker is called in logs and lists; no two may have one name. Host and process id unless given.")
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
    ProcessSignals.limitStop(to: deadline + Self.grace) { [isJSON = global.json] in
      let error = CommandError(
        .defect, "the worker did not stop within \(Self.grace) s after worker.deadline, so the process ends now",
        hint: "nothing is lost: another worker takes over; pushes that were sent and not answered are in doubt")
      CommandRunner.end(error, json: isJSON)
    }
    let signals = ProcessSignals(ProcessSignals.stops)
    let notifier = ServiceNotifier(ProcessInfo.processInfo.environment)
    let stopper = Task {
      var deadline = configuration.worker.deadline
      for await _ in signals.numbers {
        notifier?.stopping()
        await stop.ask(within: Int(deadline.components.seconds))
        // Whoever asks twice doesn't want to wait: what is unanswered stays in doubt, in the ledger.
        deadline = .zero
      }
    }
    defer { stopper.cancel() }
    // Before Redis is asked: whoever looks sees what it waits for.
    let watch = WorkerWatch()
    let loops = WorkerLoops()
    let liveness = Liveness([
      .executor(within: Liveness.Part.turnLimit), .turns("the worker's event loop", of: loops.worker),
      .turns("the Redis driver's event loop", of: loops.intake), .redisCall(of: watch),
    ])
    let identity = WorkerIdentity(
      name: name, version: Carillon.version, engine: configuration.worker.engine.rawValue)
    let served = try endpoint.address(configuration).map {
      try AdminEndpoint(
        configuration.admin, at: $0,
        WorkerSite.routes(of: watch, identity, liveness) { StandardError.dropped }, asksForTokens: false)
    }
    let watchdog = notifier?.keepAlive(on: loops.worker) { liveness.isAlive }
    defer { withExtendedLifetime(watchdog) {} }
    do {
      try await work(configuration, name: name, on: loops, unless: stop, watch, notifier)
    } catch {
      await served?.stop()
      throw error
    }
    await served?.stop()
  }

  /// Runs workers, one after the other where the store is given other partitions.
  private func work(
    _ configuration: CarillonConfiguration, name: String, on loops: WorkerLoops, unless stop: WorkerStop,
    _ watch: WorkerWatch, _ notifier: ServiceNotifier?
  ) async throws {
    let connection = try StoreConnection(configuration.redis, zoneinfo: configuration.worker.zoneinfo)
    let log = WorkerLog(name, redis: connection.endpoint)
    let reload = ConfigurationReload(configuration, loader: global.configurationLoader, tell: log.write)
    let reloading = Task {
      await reload.run { change in
        guard change.concernsWork else { return }
        let worker = await reload.current.worker
        // Whatever is under way is waited for: nothing is sent twice because somebody changed a setting.
        let seconds = max(worker.deadline, worker.answerTimeout + .seconds(1)).components.seconds
        await stop.renew(within: Int(seconds))
      }
    }
    defer { reloading.cancel() }
    // A store that is given other partitions is left, and taken up again under its new ones. So is the work when the
    // configuration has changed.
    var isStoreLocked = false
    repeat {
      let isReload = stop.takeRenewal()
      let configuration = await reload.current
      // Before Redis is asked anything: what is wrong here is wrong at once.
      let channels = try AppChannels.make(configuration.apps)
      try EnvironmentProxy.check(
        channels, engine: configuration.worker.engine, environment: ProcessInfo.processInfo.environment)
      guard let store = try await open(connection, name, on: loops.worker, unless: stop, watch, notifier, log) else {
        return
      }
      let control = connection.store(for: "carillon worker \(name) control", on: loops.worker, keys: store.keys)
      let blocking = connection.store(for: "carillon worker \(name) intake", on: loops.intake, keys: store.keys)
      let worker = PushWorker(
        configuration: try setup(configuration, name: name, channels), store: store, sharedStore: control,
        blocking: blocking, loop: loops.worker
      ) { event in
        if case .started = event {
          notifier?.ready("worker \(name) takes campaigns")
          FaultEnvironment.block(loop: loops.worker, redis: loops.intake)
        }
        // A reload is no stop and no start for who reads the log.
        switch event {
        case .started(let name) where isReload: log.goesOn(as: name)
        case .draining where stop.isRenewed && !stop.isAsked: break
        case .stopped(let totals) where stop.isRenewed && !stop.isAsked: log.add(totals)
        default: log.write(event)
        }
      }
      let watcher = CredentialWatcher(configuration.apps, channels: channels) { log.write($0) }
      let watching = Task { await watcher.run() }
      defer { watching.cancel() }
      watch.begin(worker)
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

  /// The store, once it is not held; who drains does not wait for that.
  ///
  /// - Returns: `nil` when the worker was asked to stop meanwhile.
  private func open(
    _ connection: StoreConnection, _ name: String, on loop: EventLoop, unless stop: WorkerStop,
    _ watch: WorkerWatch, _ notifier: ServiceNotifier?, _ log: WorkerLog
  ) async throws -> CampaignStore? {
    let store = connection.store(for: "carillon worker \(name)", on: loop)
    var isNew = true
    while !stop.isAsked {
      do {
        return try await connection.open(store, creating: true, changing: true)
      } catch let error as StoreError where error.code == .held && !drain {
        watch.waits(because: "\(error)")
        // It does all that there is to do: what starts after it need not wait.
        if isNew {
          log.trouble("waits: \(error)")
          notifier?.ready("worker \(name) waits: \(error)")
        }
        isNew = false
        try await Task.sleep(for: .seconds(1))
      }
    }
    return nil
  }

  /// Host and process id, in the characters that a name may have.
  private static var ownName: String {
    let host = String(
      decoding: ProcessInfo.processInfo.hostName.utf8.map { PlainName.isLetter($0) ? $0 : UInt8(ascii: "-") },
      as: UTF8.self)
    let suffix = "-\(ProcessInfo.processInfo.processIdentifier)"
    return host.prefix(PlainName.maximumLength - suffix.count) + suffix
  }
}

/// The event loops of a worker process. They live as long as the process, whatever it is reloaded with.
private struct WorkerLoops {
  /// Of the worker, and of the two connections to Redis that it calls: no thread is woken for a call.
  let worker = EventLoop(label: "worker")
  /// Of the connection that waits for jobs.
  let intake = EventLoop(label: "intake")
}

/// Who is asked to stop when a signal comes: the worker that runs, or the one that is about to.
private final class WorkerStop: Sendable {
  private struct State {
    var worker: PushWorker?
    /// Seconds that the latest request leaves.
    var deadline: Int?
    /// The same, where it is to take up its work anew.
    var renewal: Int?
  }

  private let state = Mutex(State())

  var isAsked: Bool { state.withLock { $0.deadline != nil } }

  /// Whether the work is to be taken up anew.
  var isRenewed: Bool { state.withLock { $0.renewal != nil } }

  /// The work is taken up, with what is known from now on.
  ///
  /// - Returns: whether it is taken up anew.
  func takeRenewal() -> Bool {
    state.withLock { state in
      defer { state.renewal = nil }
      return state.renewal != nil
    }
  }

  /// Has the worker that runs end, for another to take its place.
  func renew(within seconds: Int) async {
    let worker = state.withLock { state in
      state.renewal = seconds
      return state.worker
    }
    await worker?.stop(within: seconds)
  }

  /// A worker is about to run.
  func begin(_ worker: PushWorker) {
    let deadline = state.withLock { state in
      state.worker = worker
      return state.deadline ?? state.renewal
    }
    if let deadline { Task { await worker.stop(within: deadline) } }
  }

  /// Does not wait for it.
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
  /// Milliseconds; the rest is cut off.
  var wholeMilliseconds: Int { Int(self / .milliseconds(1)) }
}
