import Foundation

/// A separate store on a Redis server, a configuration for it, and the commands of the built `carillon` that use both.
public struct CarillonWorld: Sendable {
  /// Folder for the test's files.
  public let folder: ScratchFolder
  /// Namespace in Redis: the prefix of all keys of this store.
  public let namespace: String
  /// The Redis server.
  public let server: RedisServer
  /// Environment of the commands. Tests may add variables.
  public var environment: [String: String]
  /// Keeps the simulator running: its process ends when the last reference to the process is released.
  private var simulator: SimulatorProcess?

  /// - Parameters:
  ///   - partitions: number of partitions. With few partitions a slice has more than a handful of targets.
  ///   - engine: engine of its workers, as in `worker.engine`. With `nil` a test with a simulator can't start workers.
  ///   - server: `nil` for the server that all tests share.
  ///   - url: URL of the store if its Redis is not a single server. Then ``server`` is not used.
  ///   - devices: number of devices to import.
  public init(
    partitions: Int = 8, engine: String? = nil, server: RedisServer? = nil, url: String? = nil,
    devices: Int = 0
  ) async throws {
    let shared = try await RedisServer.shared
    self.server = server ?? shared
    folder = try ScratchFolder("world")
    namespace = "world-\(UUID().uuidString)"
    let simulator = try await Self.simulatorFolder.value
    environment = [
      "CARILLON_CONFIG": simulator.path("simulator/carillon.yaml"), "CARILLON_REDIS_URL": url ?? self.server.url,
      "CARILLON_REDIS_NAMESPACE": namespace, "CARILLON_REDIS_PARTITIONS": String(partitions),
    ]
    environment["CARILLON_WORKER_ENGINE"] = engine
    if devices > 0 { try await importDevices(devices) }
  }

  /// Creates a world with a store of its own. Its workers send to the simulator of another world.
  public init(engine: String, simulator other: CarillonWorld) async throws {
    try await self.init(engine: engine)
    environment["CARILLON_APPS_NEWS_APNS_ENDPOINT"] = other.environment["CARILLON_APPS_NEWS_APNS_ENDPOINT"]
    simulator = other.simulator
  }

  /// Certificates and keys for all simulators of the process, because their creation dominates a simulator's start
  /// time.
  private static let simulatorFolder = Task {
    let folder = try ScratchFolder("simulator")
    let output = try await CarillonCommand.run(["simulate", "--init", folder.path("simulator")])
    guard output.exit == .status(0) else { throw TestSupportError("simulate --init: \(output.standardError)") }
    // These tests use only the app `news`. The other apps are removed, because their settings don't have the
    // simulator's port.
    let file = folder.path("simulator/carillon.yaml")
    let text = try String(contentsOfFile: file, encoding: .utf8)
    guard let others = text.firstRange(of: "  android:"), let rest = text.firstRange(of: "\nretry:") else {
      throw TestSupportError("the configuration has no app android before retry")
    }
    let own = text[..<others.lowerBound] + text[rest.lowerBound...]
    try String(own).write(toFile: file, atomically: true, encoding: .utf8)
    return folder
  }

  /// Runs a command to its end.
  ///
  /// - Parameters:
  ///   - arguments: without the program's name.
  ///   - input: standard input of the command, at most 64 kB.
  public func run(_ arguments: String..., input: String = "") async throws -> ChildProcess.Output {
    try check(arguments, environment)
    return try await CarillonCommand.run(arguments, environment: environment, input: input)
  }

  /// Runs a command to its end, and throws if the command fails.
  ///
  /// - Returns: its standard output.
  @discardableResult
  public func succeed(_ arguments: String..., input: String = "") async throws -> String {
    try check(arguments, environment)
    let output = try await CarillonCommand.run(arguments, environment: environment, input: input)
    guard output.exit == .status(0) else {
      // Some commands explain a failure on standard output, such as the last state that `campaign watch` shows.
      let explanation = output.standardError + output.standardOutput.suffix(500)
      throw TestSupportError("\(arguments.joined(separator: " ")): \(output.exit) \(explanation)")
    }
    return output.standardOutput
  }

  /// Starts a command and does not wait for its end.
  public func start(_ arguments: String...) async throws -> ChildProcess {
    try await start(arguments, environment: [:])
  }

  /// Starts a command and does not wait for its end.
  ///
  /// - Parameters:
  ///   - environment: variables of this command. They override those of the world.
  ///   - program: path of another `carillon` than the one that was built with the tests.
  public func start(
    _ arguments: [String], environment: [String: String], program: String? = nil
  ) async throws -> ChildProcess {
    let environment = self.environment.merging(environment) { $1 }
    try check(arguments, environment)
    return try await ChildProcess.start(program ?? CarillonCommand.path, arguments, environment: environment)
  }

  /// Throws if a worker that can send has no explicit engine, because the program's default would test only one.
  private func check(_ arguments: [String], _ environment: [String: String]) throws {
    guard arguments.first == "worker", simulator != nil, environment["CARILLON_WORKER_ENGINE"] == nil else { return }
    throw TestSupportError("say what workers send with: CarillonWorld(engine:)")
  }

  /// Starts a simulator and points later commands at it.
  ///
  /// - Parameter options: options of `simulate`.
  @discardableResult
  public mutating func startSimulator(_ options: String...) async throws -> SimulatorProcess {
    try await startSimulator(options: options)
  }

  /// The folder of all simulators: keys, certificates and the service account.
  public static func simulatorKeys() async throws -> String { try await simulatorFolder.value.path("simulator") }

  /// Starts a simulator and points later commands at it.
  ///
  /// - Parameter options: options of `simulate`.
  @discardableResult
  public mutating func startSimulator(options: [String]) async throws -> SimulatorProcess {
    let simulator = try await Self.simulator(options: options)
    environment["CARILLON_APPS_NEWS_APNS_ENDPOINT"] = "https://127.0.0.1:\(simulator.port)"
    self.simulator = simulator
    return simulator
  }

  /// Starts a simulator without pointing commands at it.
  ///
  /// - Parameters:
  ///   - port: for pushes; 0 lets the system choose.
  ///   - options: options of `simulate`.
  public static func simulator(port: Int = 0, options: [String]) async throws -> SimulatorProcess {
    try await SimulatorProcess.start(
      directory: simulatorFolder.value.path("simulator"), port: port, options: options)
  }

  /// Runs a worker until no campaign is left.
  public func drain(_ name: String = "drainer") async throws {
    try await succeed("worker", "--drain", "--name", name)
  }

  /// Imports users `u0`, `u1`, … with one device each.
  ///
  /// - Parameters:
  ///   - columns: names of additional columns.
  ///   - row: returns the user of a device and the device's values in the additional columns.
  /// - Returns: their tokens, in order.
  @discardableResult
  public func importDevices(
    _ count: Int, columns: [String] = [], row: (Int) -> (user: String, values: [String]) = { ("u\($0)", []) }
  ) async throws -> [String] {
    let tokens = (0..<count).map { Self.token($0) }
    let rows = tokens.enumerated().map { number, token in
      let (user, values) = row(number)
      return ([user, token, "2026-01-01T00:00:00Z"] + values).joined(separator: ",") + "\n"
    }
    let header = (["user", "token", "registeredAt"] + columns).joined(separator: ",") + "\n"
    let file = try folder.write("devices.csv", header + rows.joined())
    try await succeed("devices", "import", file)
    return tokens
  }

  /// Returns a token of 32 bytes in hex.
  public static func token(_ number: Int) -> String {
    let digits = String(number, radix: 16)
    return String(repeating: "0a", count: 28) + String(repeating: "0", count: 8 - digits.count) + digits
  }

  /// Returns a job. The default app is that of the configuration.
  ///
  /// - Parameter content: the member with the content: a payload or a template.
  public static func job(
    _ id: String, app: String = "news", audience: String = #"{"segment":"*"}"#,
    content: String = #""apns":{"payload":{"aps":{"alert":"hi"}}}"#, more: String = ""
  ) -> String {
    #"{"id":"\#(id)","app":"\#(app)","audience":\#(audience),\#(content)\#(more)}"#
  }

  /// Submits a job.
  public func submit(_ id: String, audience: String = #"{"segment":"*"}"#, more: String = "") async throws {
    try await succeed("campaign", "submit", "-", input: Self.job(id, audience: audience, more: more))
  }

  /// Returns the output of `campaign show --json`.
  public func show(_ id: String) async throws -> JSONObject {
    try JSONObject(await succeed("campaign", "show", id, "--json"))
  }

  /// Polls `campaign show` until a condition is true. Each check starts a process, so the pause is long.
  public func until(_ id: String, _ condition: (JSONObject) -> Bool) async throws {
    var last = ""
    do {
      try await poll(until: "campaign \(id) meets the condition", every: .milliseconds(200)) {
        let output = try await run("campaign", "show", id, "--json")
        last = output.standardOutput + output.standardError
        return try output.exit == .status(0) && condition(JSONObject(output.standardOutput))
      }
    } catch let error as TestSupportError {
      throw TestSupportError("\(error): \(last)")
    }
  }
}

/// A running `carillon simulate`.
public struct SimulatorProcess: Sendable {
  /// The process.
  public let process: ChildProcess
  /// The port for pushes.
  public let port: Int
  /// The port of FCM.
  public let fcmPort: Int
  /// The port of Google's token endpoint.
  public let tokenPort: Int
  private let controlPort: Int
  private let authority: String

  static func start(directory: String, port: Int, options: [String]) async throws -> SimulatorProcess {
    let process = try await ChildProcess.start(
      CarillonCommand.path,
      [
        "simulate", "--directory", directory, "--port", String(port), "--control-port", "0", "--fcm-port", "0",
      ] + options)
    guard let line = await process.line(containing: #""event":"listening""#) else {
      throw TestSupportError("the simulator ended at its start: \(await process.errorLines.reduce("") { $0 + $1 })")
    }
    let listening = try JSONObject(line)
    guard let port = listening.number("port"), let controlPort = listening.number("controlPort"),
      let fcmPort = listening.number("fcmPort"), let tokenPort = listening.number("tokenPort")
    else {
      throw TestSupportError("the simulator doesn't say where it listens: \(line)")
    }
    return SimulatorProcess(
      process: process, port: port, fcmPort: fcmPort, tokenPort: tokenPort, controlPort: controlPort,
      authority: directory + "/ca.pem")
  }

  /// Loads devices: lines of token, state, topic and timestamp.
  public func load(_ lines: [String]) async throws {
    _ = try await control("/devices", ["--data-binary", lines.joined(separator: "\n")])
  }

  /// Loads devices from a file of any length. Its lines are as in ``load(_:)``.
  public func load(file: String) async throws {
    _ = try await control("/devices", ["--data-binary", "@" + file])
  }

  /// Loads registrations of FCM: lines of token and state.
  public func load(registrations lines: [String]) async throws {
    _ = try await control("/fcm/devices", ["--data-binary", lines.joined(separator: "\n")])
  }

  /// Loads registrations of FCM from a file of any length. Its lines are as in ``load(registrations:)``.
  public func load(registrationsFile file: String) async throws {
    _ = try await control("/fcm/devices", ["--data-binary", "@" + file])
  }

  /// Returns the current counters.
  public func counters() async throws -> JSONObject { try JSONObject(try await control("/counters", [])) }

  /// Sets the delay of every answer.
  public func setLatency(milliseconds: Int) async throws {
    try await set(#"{"latencyMilliseconds":\#(milliseconds)}"#)
  }

  /// Changes knobs: a JSON object with their names and values. Knobs that are not in the object keep their values.
  public func set(_ knobs: String) async throws {
    _ = try await control("/knobs", ["--request", "PUT", "--data", knobs])
  }

  /// Ends all access tokens. With `expire` their lifetime ends; with `revoke` Google refuses them.
  public func endAccessTokens(_ way: String) async throws {
    _ = try await control("/fcm/tokens/" + way, ["--request", "POST"])
  }

  private func control(_ path: String, _ options: [String]) async throws -> String {
    let output = try await ChildProcess.run(
      "curl",
      ["--silent", "--show-error", "--fail", "--http2", "--cacert", authority] + options
        + ["https://127.0.0.1:\(controlPort)\(path)"])
    guard output.exit == .status(0) else { throw TestSupportError("control API: \(output.standardError)") }
    return output.standardOutput
  }
}
