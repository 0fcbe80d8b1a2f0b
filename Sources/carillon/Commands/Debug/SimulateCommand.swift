import APNsSimulator
import ArgumentParser
import CommandSupport
import Dispatch
import Glibc
import PushCore

/// The command `carillon simulate`.
struct SimulateCommand: LongRunningCommand, AuditedCommand {
  static let signals = ProcessSignals.stops
  static let configuration = CommandConfiguration(
    commandName: "simulate",
    abstract: "Run a local simulator of APNs and FCM.",
    discussion: SimulateHelp.discussion)

  /// Maximum delay, in ms: all clients give up after a minute.
  private static let longestLatency = 60_000
  /// Maximum time to wait at the end until the reader of standard output has taken the last line. Standard error has
  /// the same limit.
  private static let lastWait = DispatchTimeInterval.seconds(1)

  /// Time in seconds from the first stop signal until the process of a hanging simulator is ended. A normal stop takes
  /// about a second.
  private static let longestStop = 5

  static let effect = Effect.unrecorded

  @OptionGroup var global: GlobalOptions
  @Option(name: .customLong("init"), help: "Create a folder for a simulator, and exit.", completion: .directory)
  var initialise: String?
  @Option(help: "The folder that --init created.", completion: .directory) var directory: String?
  @Option(help: "The port of APNs; 0 selects a free port.") var port = SimulatorFolder.port
  @Option(help: "The port of the control API; 0 selects a free port. Default: --port plus 1, or 0 with --port 0.")
  var controlPort: UInt16?
  @Option(help: "The port of FCM; 0 selects a free port. Default: --port plus 2, or 0 with --port 0.")
  var fcmPort: UInt16?
  @Option(help: "The port of Google's token endpoint. Default: --fcm-port plus 1, or 0 with --fcm-port 0.")
  var tokenPort: UInt16?
  @Option(help: "The delay of every answer of APNs, such as 20ms.") var latency = "0ms"
  @Option(help: "The number of event loops; each can use one core.") var threads = 1
  @Option(help: "The answer for unknown tokens: accept, or bad (BadDeviceToken).")
  var unknownTokens = SimulatorKnobs.UnknownTokens.accept
  @Option(help: "A file to which the simulator adds a line for every push.", completion: .file()) var log: String?
  @Flag(help: "With --log: add the payload to each line.") var logBodies = false
  @OptionGroup(title: "Behaviour") var options: SimulatorOptions

  func validate() throws {
    guard (initialise == nil) != (directory == nil) else {
      throw ValidationError("Give either --init DIR or --directory DIR.")
    }
    guard initialise == nil || ports.areFixed else {
      throw ValidationError("--init writes the ports into the folder: --port must be from 1 to 65532.")
    }
    guard let milliseconds = DurationText.milliseconds(latency), milliseconds <= Self.longestLatency else {
      throw ValidationError("--latency must be a duration of at most a minute, such as 20ms.")
    }
    guard (1...64).contains(threads) else { throw ValidationError("--threads must be 1 to 64.") }
    guard log != nil || !logBodies else { throw ValidationError("--log-bodies needs --log FILE.") }
  }

  func run() async throws {
    if let initialise { return try create(SimulatorFolder(path: initialise)) }
    limitStop(
      to: Self.longestStop, "the simulator did not stop within \(Self.longestStop) s, so the process ends now",
      hint: "the log may lack its last lines")
    let signals = ProcessSignals(ProcessSignals.stops)
    var configuration = try SimulatorFolder(path: directory ?? "").load()
    configuration.port = ports.apns
    configuration.controlPort = ports.control
    try setPorts(of: &configuration)
    configuration.threads = threads
    configuration.knobs.latencyMilliseconds = DurationText.milliseconds(latency) ?? 0
    configuration.knobs.unknownTokens = unknownTokens
    configuration.log = log
    configuration.logsBodies = logBodies
    try options.apply(to: &configuration)
    let timeline = try options.loadTimeline()
    let simulator = try await start(configuration)
    let output = DescriptorWriter(STDOUT_FILENO) { JSONWriter.object("dropped", "\($0)") + "\n" }
    Self.writeEvent("listening", to: output) { json in
      json.member("port", Int(simulator.port))
      json.member("controlPort", Int(simulator.controlPort))
      if let port = simulator.fcmPort { json.member("fcmPort", Int(port)) }
      if let port = simulator.tokenPort { json.member("tokenPort", Int(port)) }
    }
    if let timeline { simulator.play(timeline) }
    let failure = await end(of: simulator, signals)
    FaultEnvironment.blockStop()
    await simulator.stop()
    let counters = await simulator.counters()
    Self.writeEvent("stopped", to: output) { json in
      json.name("counters")
      json.raw(counters.json)
    }
    output.flush(within: Self.lastWait)
    if let failure { throw Self.error(failure) }
  }

  private var ports: SimulatorPorts {
    SimulatorPorts(apns: port, control: controlPort, fcm: fcmPort, token: tokenPort)
  }

  /// Sets the ports of the FCM side, if the folder has a service account.
  private func setPorts(of configuration: inout SimulatorConfiguration) throws {
    guard configuration.fcm != nil else {
      guard fcmPort == nil, tokenPort == nil else {
        throw CommandError(
          .input, "\(directory ?? "") has no \(SimulatorFolder.serviceAccount), so the simulator has no FCM side",
          hint: "omit --fcm-port and --token-port, or create a new folder: carillon simulate --init DIR")
      }
      return
    }
    configuration.fcm?.port = ports.fcm
    configuration.fcm?.tokenPort = ports.token
  }

  /// Prints an object with the event and further members. It does not wait for a reader, because the simulator also
  /// runs without one.
  private static func writeEvent(_ event: String, to output: DescriptorWriter, _ more: (inout JSONWriter) -> Void) {
    var json = JSONWriter()
    json.beginObject()
    json.member("event", event)
    more(&json)
    json.endObject()
    output.write(json.text + "\n")
  }

  private func start(_ configuration: SimulatorConfiguration) async throws -> Simulator {
    do {
      return try await Simulator.start(configuration)
    } catch let error as RequestLogError {
      throw Self.error(error)
    }
  }

  /// Waits for a signal or an error of the request log. Returns the error; `nil` after a signal.
  private func end(of simulator: Simulator, _ signals: ProcessSignals) async -> RequestLogError? {
    let numbers = signals.numbers
    return await withTaskGroup(of: RequestLogError?.self) { group in
      group.addTask {
        for await _ in numbers { break }
        return nil
      }
      if log != nil {
        group.addTask {
          for await failure in simulator.logFailures { return failure }
          return nil
        }
      }
      defer { group.cancelAll() }
      return await group.next() ?? nil
    }
  }

  private static func error(_ failure: RequestLogError) -> CommandError {
    CommandError(
      .failed, "the log \(failure)", hint: "free some space, or choose another file: --log never overwrites a file")
  }

  private func create(_ folder: SimulatorFolder) throws {
    do {
      try folder.create(ports)
    } catch let error as FileError {
      throw CommandError(
        .failed, "\(error.path): \(error.reason)",
        hint: "choose a folder that does not exist yet; --init replaces no files")
    }
    guard !global.json else { return try StandardOutput.printLine(JSONWriter.object("directory", folder.path)) }
    let path = folder.path
    try StandardOutput.printLine(
      """
      \(path)/\(SimulatorFolder.configuration) is ready. Next:
        carillon simulate --directory \(path)\(ports.options)
        carillon --config \(path)/\(SimulatorFolder.configuration) worker
      """)
  }
}
