import ArgumentParser
import CommandSupport
import EventLoop
import Foundation
import PushCore
import PushWorker

/// `carillon worker`.
struct WorkerCommand: CarillonCommand {
  static let configuration = CommandConfiguration(
    commandName: "worker",
    abstract: "Runs a worker: takes campaigns from the queue and sends them.",
    discussion: """
      Any number of workers can run, on any number of machines. SIGTERM or SIGINT: it takes nothing new, finishes what \
      is in flight, records it and exits 0, within worker.deadline; a second signal: at once. A worker that is killed \
      loses nothing: another takes over what it held.

      Examples:
        carillon worker
        carillon worker --name east-1 --json
        carillon worker --drain
      """)

  @OptionGroup var global: GlobalOptions

  @Flag(help: "Exit when no campaign is left, scheduled ones aside.")
  var drain = false

  @Option(
    help: "What the worker is called in logs and lists; no two may have one name. Host and process id unless given.")
  var name: String?

  func validate() throws {
    if let name, !PlainName.isValid(name) { throw ValidationError("--name must be \(PlainName.form).") }
  }

  func run() async throws {
    let signals = StopSignals()
    let configuration = try global.loadConfiguration()
    let name = self.name ?? Self.ownName
    let channels = try AppChannels.make(configuration.apps)
    try EnvironmentProxy.check(
      channels, engine: configuration.worker.engine, environment: ProcessInfo.processInfo.environment)
    let connection = try StoreConnection(configuration.redis)
    // Three connections: commits must not wait behind large replies, nor either behind the blocking wait for a job.
    // The first two live where the worker does: no thread is woken for a call.
    let loop = EventLoop(label: "worker")
    let store = try await connection.open(for: "carillon worker \(name)", on: loop, creating: true)
    var setup = WorkerConfiguration(
      name: name, window: configuration.worker.window, connections: configuration.worker.connections,
      retry: RetryPolicy(configuration.retry), guard: GuardPolicy(configuration.guard), drains: drain, apps: channels)
    setup.isNameGiven = self.name != nil
    setup.engine = configuration.worker.engine
    setup.answerTimeout = Int(configuration.worker.answerTimeout / .milliseconds(1))
    setup.faults = try FaultEnvironment.switches()
    let worker = PushWorker(
      configuration: setup, store: store, control: connection.store(for: "carillon worker \(name) control", on: loop),
      blocking: connection.store(for: "carillon worker \(name) intake"), loop: loop, observer: WorkerLog().write)
    let stopper = Task {
      var deadline = configuration.worker.deadline
      for await _ in signals.numbers {
        let seconds = Int(deadline.components.seconds)
        Task { await worker.stop(within: seconds) }
        // Whoever asks twice doesn't want to wait: what is unanswered stays in doubt, in the ledger.
        deadline = .zero
      }
    }
    let watcher = CredentialWatcher(configuration.apps, channels: channels) { WorkerLog().write($0) }
    let watching = Task { await watcher.run() }
    defer {
      stopper.cancel()
      watching.cancel()
    }
    try await worker.run()
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
